/** @module Whether a prompt should ask for another line before it runs what was typed. */
import type { Language } from "@sandbar/shared";

const PAIRS: Record<string, string> = { "(": ")", "[": "]", "{": "}" };

/** A guess from brackets, quotes and block openers: the kernel has the last word on what is valid. */
export function wantsMore(cell: string, language: Language): boolean {
  const lines = cell.split("\n");
  const last = lines.at(-1)!;
  if (last.endsWith("\\")) return true;
  const { open, inText } = scan(cell, language);
  if (inText || open > 0) return true;
  if (language === "python") {
    // A block ends with an empty line, as in Python's own prompt.
    const opens = lines.some((line) => /:\s*(#.*)?$/.test(line)) || /^\s*@/.test(lines[0]!);
    return opens && last.trim() !== "";
  }
  if (language === "bash")
    return (
      count(cell, /(^|[;\s])(do|then|case)(?=[\s;]|$)/g) > count(cell, /(^|[;\s])(done|fi|esac)(?=[\s;]|$)/g)
    );
  return /[+\-*/,&|=]$|%>%$|\|>$|=>$/.test(last.trimEnd()) && !/(\+\+|--)$/.test(last.trimEnd());
}

function scan(cell: string, language: Language): { open: number; inText: boolean } {
  const comment = language === "node" ? "//" : "#";
  const quotes =
    language === "python" ? ['"""', "'''", '"', "'"] : language === "r" ? ['"', "'"] : ["`", '"', "'"];
  const stack: string[] = [];
  let inText: string | null = null;
  for (let i = 0; i < cell.length; i++) {
    if (inText) {
      if (cell[i] === "\\" && !(language === "bash" && inText === "'")) i++;
      else if (cell.startsWith(inText, i)) {
        i += inText.length - 1;
        inText = null;
      } else if (
        cell[i] === "\n" &&
        inText.length === 1 &&
        (language === "python" || (language === "node" && inText !== "`"))
      )
        inText = null;
      continue;
    }
    if (cell.startsWith(comment, i) && (language !== "bash" || i === 0 || /\s/.test(cell[i - 1]!))) {
      const end = cell.indexOf("\n", i);
      if (end === -1) break;
      i = end;
      continue;
    }
    const quote = quotes.find((mark) => cell.startsWith(mark, i));
    if (quote) {
      inText = quote;
      i += quote.length - 1;
    } else if (PAIRS[cell[i]!]) stack.push(PAIRS[cell[i]!]!);
    else if (cell[i] === stack.at(-1)) stack.pop();
  }
  const unfinished =
    inText !== null && (inText.length === 3 || inText === "`" || language === "bash" || language === "r");
  return { open: stack.length, inText: unfinished };
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}
