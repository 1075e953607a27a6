/** @module What the Tab key offers at a prompt, in the shape that readline wants it. */
import type { Session } from "@sandbar/sdk";
import { clean } from "./print.ts";

/** What may stand, and for which end of the line. */
export type Offer = [texts: string[], typed: string];

const INDENT = "    ";

export class Completer {
  readonly #session: Pick<Session, "complete">;
  readonly #context: string | undefined;
  readonly #commands: readonly string[];

  constructor(session: Pick<Session, "complete">, context: string | undefined, commands: readonly string[]) {
    this.#session = session;
    this.#context = context;
    this.#commands = commands;
  }

  /** `before`: lines of the cell above this one. */
  async offer(before: string, line: string): Promise<Offer> {
    if (line.trim() === "") return [[line + INDENT], line];
    if (before === "" && line.startsWith("/"))
      return [this.#commands.filter((command) => command.startsWith(line)), line];
    const code = before === "" ? line : `${before}\n${line}`;
    try {
      const { matches, start, end } = await this.#session.complete(code, { context: this.#context });
      const typed = code.slice(start, end);
      if (typed.includes("\n")) return [[], line];
      // readline only adds to what stands there, and what it shows must not speak to the terminal.
      const texts = matches.map(({ text }) => text);
      return [texts.filter((text) => text.startsWith(typed) && clean(text) === text), typed];
    } catch {
      // Nobody asked for more than a word.
      return [[], line];
    }
  }
}
