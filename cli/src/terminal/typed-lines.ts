/** @module Lines as they are typed, or pasted: what is pasted is one piece, whatever lines it has. */
import type { Interface, Key } from "node:readline";

export interface TypedLine {
  readonly text: string;
  /** Its end was pasted, not typed. */
  readonly pasted: boolean;
}

const PASTE_ON = "\x1b[?2004h";
const PASTE_OFF = "\x1b[?2004l";

export class TypedLines {
  readonly #readline: Interface;
  readonly #terminal: boolean;
  readonly #waiting: TypedLine[] = [];
  #pasting = false;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor(readline: Interface, terminal: boolean) {
    this.#readline = readline;
    this.#terminal = terminal;
    readline.on("line", (text) => {
      this.#waiting.push({ text, pasted: this.#pasting });
      this.#wake?.();
    });
    readline.once("close", () => {
      this.#closed = true;
      this.#wake?.();
    });
    if (terminal)
      process.stdin.on("keypress", (_text: string | undefined, key: Key) => {
        // Terminals say so when they are asked to, by marks that readline passes over.
        if (key?.name === "paste-start") this.#pasting = true;
        else if (key?.name === "paste-end") this.#pasting = false;
      });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Null at the end. */
  async next(): Promise<TypedLine | null> {
    while (this.#waiting.length === 0) {
      if (this.#closed) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
    return this.#waiting.shift()!;
  }

  /** What has come already after the line that was taken last. */
  peek(): string | null {
    return this.#waiting[0]?.text ?? null;
  }

  listen(): void {
    if (this.#terminal) process.stdout.write(PASTE_ON);
    if (!this.#closed) this.#readline.resume();
  }

  /** Leaves the terminal to what runs. */
  rest(): void {
    if (!this.#closed) this.#readline.pause();
    if (this.#terminal) process.stdout.write(PASTE_OFF);
  }
}
