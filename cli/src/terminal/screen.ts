/**
 * The end of a terminal's screen that is drawn again and again, below what stays. One write a frame, over what stands
 * there: nothing is cleared before it is replaced, so nothing flickers.
 *
 * @module
 */
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

const BEGIN = "\x1b[?2026h\x1b[?25l";
const END = "\x1b[?2026l";
const SHOW_CURSOR = "\x1b[?25h";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

type Out = Pick<NodeJS.WriteStream, "write" | "columns" | "rows">;

export class Screen {
  readonly #out: Out;
  /** What is drawn, which may go. */
  #live: readonly string[] = [];
  readonly #showCursor = () => void this.#out.write(SHOW_CURSOR);

  constructor(out: Out = process.stdout) {
    this.#out = out;
  }

  get columns(): number {
    return this.#out.columns || DEFAULT_COLUMNS;
  }

  get rows(): number {
    return this.#out.rows || DEFAULT_ROWS;
  }

  /** Adds lines that stay, and draws others below them. */
  update(staying: readonly string[], live: readonly string[]): void {
    // The last rows are what matters; what has left the screen cannot be drawn again.
    const fitting = live.slice(-(this.rows - 2)).map((line) => cut(line, this.columns - 1));
    if (staying.length === 0 && same(fitting, this.#live)) return;
    const up = this.#height();
    let text = BEGIN;
    if (up > 0) text += `\x1b[${up}A\r`;
    for (const line of [...staying, ...fitting]) text += `${line}${CLEAR_LINE}\n`;
    text += CLEAR_BELOW + (fitting.length > 0 ? "" : SHOW_CURSOR) + END;
    if (this.#live.length === 0 && fitting.length > 0) process.once("exit", this.#showCursor);
    if (this.#live.length > 0 && fitting.length === 0) process.off("exit", this.#showCursor);
    this.#live = fitting;
    this.#out.write(text);
  }

  clear(): void {
    if (this.#live.length > 0) this.update([], []);
  }

  /** In rows, since a terminal that was made narrower has wrapped the lines. */
  #height(): number {
    return this.#live.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(stringWidth(line) / this.columns)),
      0,
    );
  }
}

export function cut(line: string, width: number): string {
  if (stringWidth(line) <= width) return line;
  const [first = ""] = wrapAnsi(line, Math.max(1, width - 1), {
    hard: true,
    wordWrap: false,
    trim: false,
  }).split("\n");
  return `${first}…`;
}

const same = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((line, index) => line === others[index]);
