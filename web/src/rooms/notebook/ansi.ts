/** @module Text of a terminal as styled pieces: colours, and lines that were written over. */

export interface Piece {
  text: string;
  /** A colour's name ("red", "bright-blue") or "#rrggbb". */
  fg?: string;
  bg?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
}

type Style = Omit<Piece, "text">;

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// CSI with its final letter, OSC up to its end, or a two-character sequence.
const ESCAPE = /\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>])/g;

export function parseAnsi(text: string): Piece[] {
  const pieces: Piece[] = [];
  let style: Style = {};
  let at = 0;
  const push = (plain: string) => {
    // Of what is left, nothing is for eyes but tabs and line ends.
    const clean = plain.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "");
    if (clean) pieces.push({ text: clean, ...style });
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === "m") style = restyled(style, match[1] ?? "");
  }
  // An escape that has only half arrived is not shown.
  push(text.slice(at).replace(/\x1b(\[[0-9;:?]*)?$/, ""));
  return pieces;
}

function restyled(before: Style, parameters: string): Style {
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
  let style: Style = { ...before };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) [style.fg, style.bg] = [style.bg ?? "inverse", style.fg ?? "inverse"];
    else if (code === 9) style.strike = true;
    else if (code === 22) [style.bold, style.dim] = [undefined, undefined];
    else if (code === 23) style.italic = undefined;
    else if (code === 24) style.underline = undefined;
    else if (code === 29) style.strike = undefined;
    else if (code >= 30 && code <= 37) style.fg = COLOURS[code - 30];
    else if (code >= 90 && code <= 97) style.fg = `bright-${COLOURS[code - 90]}`;
    else if (code >= 40 && code <= 47) style.bg = COLOURS[code - 40];
    else if (code >= 100 && code <= 107) style.bg = `bright-${COLOURS[code - 100]}`;
    else if (code === 39) style.fg = undefined;
    else if (code === 49) style.bg = undefined;
    else if (code === 38 || code === 48) {
      const [colour, taken] = extended(codes, i + 1);
      if (colour) style[code === 38 ? "fg" : "bg"] = colour;
      i += taken;
    }
  }
  return style;
}

/** 5;n of the palette, or 2;r;g;b. */
function extended(codes: readonly number[], at: number): [string | undefined, number] {
  if (codes[at] === 2) return [hex(codes[at + 1], codes[at + 2], codes[at + 3]), 4];
  if (codes[at] !== 5) return [undefined, 1];
  const n = codes[at + 1] ?? 0;
  if (n < 8) return [COLOURS[n], 2];
  if (n < 16) return [`bright-${COLOURS[n - 8]}`, 2];
  if (n >= 232) return [hex(8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10), 2];
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const cube = n - 16;
  return [hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2];
}

function hex(...parts: (number | undefined)[]): string {
  return `#${parts.map((part = 0) => Math.min(255, Math.max(0, part)).toString(16).padStart(2, "0")).join("")}`;
}

/** What a terminal would show of lines that go back to their start, as progress bars do. */
export function overwritten(text: string): string {
  if (!/[\r\b]/.test(text)) return text;
  return text
    .split("\n")
    .map((line) => {
      // The line end of Windows, or a bar that waits at its start.
      const parts = line.replace(/\r+$/, "").split(/\r(?:\x1b\[0?K)?/);
      let shown = parts[0] ?? "";
      for (const part of parts.slice(1)) {
        // With colours in it columns are not characters: the newest part stands alone.
        if (part.includes("\x1b") || shown.includes("\x1b")) shown = part || shown;
        else shown = part + shown.slice(part.length);
      }
      while (/[^\b]\x08/.test(shown)) shown = shown.replace(/[^\b]\x08/g, "");
      return shown.replace(/^\x08+/, "");
    })
    .join("\n");
}
