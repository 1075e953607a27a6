/** @module Generated pages in lines that a person can read in an editor. */

export const LINE = 120;

/** Breaks prose and list items between words, never within code or a link; tables, headings and blocks of code stay. */
export function wrapped(markdown: string): string {
  let block = false;
  return markdown
    .split("\n")
    .flatMap((line) => {
      const fence = /^ *```/.test(line);
      if (fence) block = !block;
      return fence || block || /^[|#]/.test(line) ? line : lines(line);
    })
    .join("\n");
}

function lines(text: string): string[] {
  const [start] = /^\s*(?:- )?/.exec(text)!;
  const words = text.slice(start.length).match(/(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/g) ?? [];
  const indent = " ".repeat(start.length);
  const out: string[] = [];
  let line = start;
  for (const word of words) {
    if (line.trim() === "" || line === start) line += word;
    else if (line.length + 1 + word.length <= LINE) line += ` ${word}`;
    else {
      out.push(line);
      line = indent + word;
    }
  }
  return [...out, line];
}
