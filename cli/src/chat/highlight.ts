/** @module Colours for code of any language: comments, texts, numbers and the words that most languages share. */
import type { Format, Style } from "../terminal/style.ts";

const WORDS =
  "and|as|assert|async|await|break|case|catch|class|const|continue|def|del|do|done|elif|else|esac|except|export|extends|" +
  "fi|finally|for|from|function|if|import|in|is|lambda|let|local|new|not|or|pass|raise|repeat|return|select|SELECT|FROM|" +
  "WHERE|JOIN|GROUP|ORDER|BY|switch|then|throw|try|typeof|var|while|with|yield|True|False|None|true|false|null|NULL|TRUE|FALSE";

const KINDS: readonly [RegExp, Format][] = [
  [/(?:\/\/|(?<![\w$])#|--\s).*/, "dim"],
  [/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/, "green"],
  [/\b\d[\w.]*\b/, "cyan"],
  [new RegExp(`\\b(?:${WORDS})\\b`), "magenta"],
];
const ANY = new RegExp(KINDS.map(([pattern]) => `(${pattern.source})`).join("|"), "g");
/** Slashes are division in these, and hashes are no comments in those. */
const HASH_ONLY = new Set(["python", "py", "r", "bash", "sh", "yaml", "toml", "ruby"]);

export function highlight(code: string, language: string | null, style: Style): string {
  const hashOnly = language !== null && HASH_ONLY.has(language.toLowerCase());
  return code.replace(ANY, (found, ...groups) => {
    const kind = groups.slice(0, KINDS.length).findIndex((group) => group !== undefined);
    if (kind === 0 && hashOnly !== found.startsWith("#") && language !== null) return found;
    return style(KINDS[kind]![1], found);
  });
}
