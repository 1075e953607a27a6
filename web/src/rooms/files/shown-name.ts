/** @module A name from a session as it can be shown: what would hide, reorder or break the line is spelled out. */

export interface NamePart {
  text: string;
  /** Stands for a character that cannot be seen. */
  escaped: boolean;
}

/** Controls, format characters (bidi overrides, zero-width, tags), line separators, private use, lone surrogates. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u00a0\u3164\uffa0\ufffc]/u;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\x1b": "\\e" };

export function nameParts(name: string): NamePart[] {
  const parts: NamePart[] = [];
  for (const char of name) {
    const escaped = UNSEEN.test(char);
    const text = escaped ? (SHORT[char] ?? `\\u{${char.codePointAt(0)!.toString(16)}}`) : char;
    const last = parts.at(-1);
    if (last?.escaped === escaped) last.text += text;
    else parts.push({ text, escaped });
  }
  return parts;
}

/** The same as plain text, for titles and labels. */
export function plainName(name: string, longest = 200): string {
  const text = nameParts(name)
    .map((part) => part.text)
    .join("");
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
