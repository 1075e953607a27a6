/** @module One text of a JSON object that is still being written. */

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** What has come of the text under this name, at the object's first level; null before it begins. */
export function partialText(json: string, name: string): string | null {
  const begin = new RegExp(`^\\s*\\{(?:[^"{}\\[\\]]|"(?:[^"\\\\]|\\\\.)*")*?"${name}"\\s*:\\s*"`).exec(json);
  if (!begin) return null;
  let text = "";
  for (let at = begin[0].length; at < json.length; at++) {
    const char = json[at]!;
    if (char === '"') return text;
    if (char !== "\\") {
      text += char;
      continue;
    }
    const escaped = json[++at];
    // An escape that is not whole yet is left for the next time.
    if (escaped === undefined) return text;
    if (escaped !== "u") {
      text += ESCAPES[escaped] ?? escaped;
      continue;
    }
    const code = json.slice(at + 1, at + 5);
    if (code.length < 4) return text;
    text += String.fromCharCode(Number.parseInt(code, 16));
    at += 4;
  }
  return text;
}
