/**
 * A prompt that goes on listening while something is drawn: what is typed meanwhile is kept, and lines that are sent
 * wait for their turn. Its echo is silent then, since the screen is somebody else's.
 *
 * @module
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface, type Interface, type Key } from "node:readline";
import { Writable } from "node:stream";
import type { Offer } from "./completer.ts";
import { TypedLines } from "./typed-lines.ts";

const HISTORY_LINES = 1000;

export interface PromptOptions {
  readonly text: string;
  readonly historyFile: string;
  complete(line: string): Offer;
}

/** Node's readline asks its output for the terminal's width. */
class Echo extends Writable {
  silent = false;
  readonly isTTY = true;
  get columns(): number {
    return process.stdout.columns;
  }
  get rows(): number {
    return process.stdout.rows;
  }
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.silent) process.stdout.write(chunk);
    done();
  }
}

export class Prompt {
  readonly #options: PromptOptions;
  readonly #echo = new Echo({ decodeStrings: true });
  readonly #readline: Interface;
  readonly #lines: TypedLines;
  #onStop: (() => void) | null = null;
  #pressed = false;
  #left: (() => void) | null = null;
  #key: ((key: string) => void) | null = null;
  /** Told of Ctrl-O. */
  onExpand: () => void = () => {};

  constructor(options: PromptOptions) {
    this.#options = options;
    const { historyFile } = options;
    this.#readline = createInterface({
      input: process.stdin,
      output: this.#echo,
      terminal: true,
      history: existsSync(historyFile) ? readFileSync(historyFile, "utf8").split("\n") : [],
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string) => options.complete(line),
    });
    this.#readline.setPrompt(options.text);
    this.#lines = new TypedLines(this.#readline, true);
    process.stdout.on("resize", () => this.#echo.emit("resize"));
    this.#readline.on("history", (lines) => {
      mkdirSync(dirname(historyFile), { recursive: true, mode: 0o700 });
      writeFileSync(historyFile, lines.join("\n"), { mode: 0o600 });
    });
    this.#readline.on("SIGINT", () => this.#interrupted());
    // By Ctrl-D, at any time: what goes on is awaited, and its Ctrl-C is the system's again.
    this.#readline.once("close", () => {
      this.#key?.("\x03");
      if (this.#onStop) process.on("SIGINT", this.#onStop);
    });
    process.stdin.on("keypress", (text: string | undefined, key: Key) => this.#keyPressed(text, key));
    this.#lines.listen();
  }

  /** What is being typed. */
  get typed(): string {
    return this.#readline.line;
  }

  /** The next message: a line, or lines that were pasted or end in a backslash. Null when the user leaves. */
  async next(): Promise<string | null> {
    let message = "";
    const left = new Promise<null>((resolve) => {
      this.#left = () => resolve(null);
    });
    for (;;) {
      if (this.#lines.closed) return null;
      this.#echo.silent = false;
      this.#readline.setPrompt(message === "" ? this.#options.text : "… ");
      this.#readline.prompt(true);
      const line = await Promise.race([this.#lines.next(), left]);
      if (line === null) return null;
      this.#pressed = false;
      if (line.text.endsWith("\\")) message += `${line.text.slice(0, -1)}\n`;
      else if (line.pasted) message += `${line.text}\n`;
      else return message + line.text;
    }
  }

  /** Listens without a sound until the next prompt; Ctrl-C is for `onStop`. */
  quiet(onStop: () => void): void {
    this.#echo.silent = true;
    this.#onStop = onStop;
  }

  loud(): void {
    if (this.#onStop) process.off("SIGINT", this.#onStop);
    this.#onStop = null;
  }

  /** One key, of these. */
  async key(choices: string): Promise<string> {
    if (this.#lines.closed) return "\x03";
    this.#echo.silent = true;
    try {
      return await new Promise<string>((resolve) => {
        this.#key = (key) => {
          if (choices.includes(key)) resolve(key);
        };
      });
    } finally {
      this.#key = null;
      // It is no part of the next message.
      if (!this.#lines.closed) this.#readline.write(null, { ctrl: true, name: "u" });
    }
  }

  /** One line for a question of ours. */
  async line(question: string): Promise<string> {
    if (this.#lines.closed) return "";
    this.#echo.silent = false;
    this.#readline.setPrompt(question);
    this.#readline.prompt();
    return (await this.#lines.next())?.text ?? "";
  }

  /** Leaves the terminal to another program. */
  async away<T>(work: () => Promise<T>): Promise<T> {
    this.#lines.rest();
    process.stdin.setRawMode(false);
    try {
      return await work();
    } finally {
      process.stdin.setRawMode(true);
      this.#lines.listen();
    }
  }

  close(): void {
    this.#lines.rest();
    this.#readline.close();
  }

  #keyPressed(text: string | undefined, key: Key | undefined): void {
    if (this.#key && text) this.#key(text.toLowerCase());
    else if (key?.ctrl && key.name === "o") this.onExpand();
  }

  #interrupted(): void {
    if (this.#key) this.#key("\x03");
    else if (this.#onStop) this.#onStop();
    else if (this.#readline.line === "" && this.#pressed) this.#left?.();
    else this.#clearLine();
  }

  #clearLine(): void {
    this.#pressed = this.#readline.line === "";
    this.#readline.write(null, { ctrl: true, name: "e" });
    this.#readline.write(null, { ctrl: true, name: "u" });
    process.stdout.write(this.#pressed ? "\n(Ctrl-C again leaves; so does Ctrl-D)\n" : "\n");
    this.#readline.prompt();
  }
}
