/** @module `sandbar repl`: a prompt on a kernel that keeps its variables. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Session } from "@sandbar/sdk";
import type { Language } from "@sandbar/shared";
import type { Command } from "commander";
import { explain } from "../invocation/explain.ts";
import { addSessionFlags, cli, type SessionFlags, sessionFor } from "../invocation/global-options.ts";
import { number } from "../invocation/option-values.ts";
import { Completer, type Offer } from "../terminal/completer.ts";
import { showLive } from "../terminal/live.ts";
import { clean, dim, size } from "../terminal/print.ts";
import { stateFile } from "../terminal/state-file.ts";
import { TypedLines } from "../terminal/typed-lines.ts";
import { wantsMore } from "../terminal/wants-more.ts";

const HISTORY_FILE = stateFile("history");
const HISTORY_LINES = 1000;
const COMMANDS = ["/help", "/state", "/sh ", "/restart", "/files", "/artifacts", "/quit"];
/** Ends a prompt of the language's own. */
const LEAVES: Record<Language, RegExp> = {
  python: /^(exit|quit)(\(\s*\))?$/,
  node: /^(\.exit|process\.exit\(\s*\))$/,
  r: /^(q|quit)\(.*\)$/,
  bash: /^(exit|logout)$/,
};
const HELP = `/help  this text        /state  variables        /sh <command>  a shell command
/restart  a fresh kernel  /files [path]  list files  /artifacts  what was kept
/quit  leave (Ctrl-D)     Tab completes             Ctrl-C interrupts the running cell, or clears the line`;

interface ReplFlags extends SessionFlags {
  context?: string;
  timeout?: number;
  saveImages?: boolean;
}

export function addRepl(program: Command): void {
  addSessionFlags(program.command("repl"))
    .description("an interactive prompt; variables stay between cells")
    .option("--context <name>", "kernel to talk to")
    .option("-t, --timeout <seconds>", "time limit of each cell", number)
    .option("--keep", "keep the session after leaving")
    .option("--save-images", "save figures as image-1.png and so on in this folder")
    .action(async (flags: ReplFlags, command: Command) => {
      const { session, done } = await sessionFor(cli(command), flags);
      try {
        await new Repl(session, flags).loop();
      } finally {
        await done();
      }
    });
}

class Repl {
  readonly #session: Session;
  readonly #flags: ReplFlags;
  readonly #language: Language;
  readonly #readline: Interface;
  readonly #lines: TypedLines;
  readonly #tty = process.stdin.isTTY === true;
  #cell = "";

  constructor(session: Session, flags: ReplFlags) {
    this.#session = session;
    this.#flags = flags;
    this.#language = session.info.runtime;
    const completer = new Completer(session, flags.context, COMMANDS);
    this.#readline = createInterface({
      input: process.stdin,
      output: this.#tty ? process.stdout : undefined,
      history: this.#tty && existsSync(HISTORY_FILE) ? readFileSync(HISTORY_FILE, "utf8").split("\n") : [],
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, offer: Offer) => void) =>
        void completer.offer(this.#cell, line).then((offer) => done(null, offer)),
    });
    this.#lines = new TypedLines(this.#readline, this.#tty);
    this.#readline.on("history", (lines) => {
      mkdirSync(dirname(HISTORY_FILE), { recursive: true, mode: 0o700 });
      writeFileSync(HISTORY_FILE, lines.join("\n"), { mode: 0o600 });
    });
  }

  async loop(): Promise<void> {
    if (this.#tty)
      process.stderr.write(dim(`${this.#language} in ${this.#session.id}; /help, Ctrl-D leaves\n`));
    let left = false;
    // Ctrl-C at the prompt clears what was typed; while a cell runs, showLive listens instead.
    this.#readline.on("SIGINT", () => {
      this.#cell = "";
      this.#readline.write(null, { ctrl: true, name: "e" });
      this.#readline.write(null, { ctrl: true, name: "u" });
      process.stdout.write("\n");
      this.#prompt();
    });
    this.#lines.listen();
    this.#prompt();
    for (let line = await this.#lines.next(); line !== null; line = await this.#lines.next()) {
      this.#cell = this.#cell === "" ? line.text : `${this.#cell}\n${line.text}`;
      if (!line.pasted && this.#isWhole()) {
        const cell = this.#cell;
        this.#cell = "";
        left = await this.#handle(cell);
        if (left) break;
      }
      this.#prompt();
    }
    if (this.#cell.trim() !== "") await this.#handle(this.#cell);
    this.#lines.rest();
    this.#readline.close();
    if (this.#tty && !left) process.stdout.write("\n");
  }

  /** An empty line ends a block, unless more of the block has come with it. */
  #isWhole(): boolean {
    if (this.#cell.startsWith("/")) return true;
    if (wantsMore(this.#cell, this.#language)) return false;
    return !(this.#cell.endsWith("\n") && /^[ \t]+\S/.test(this.#lines.peek() ?? ""));
  }

  #prompt(): void {
    if (!this.#tty) return;
    this.#readline.setPrompt(this.#cell === "" ? ">>> " : "... ");
    this.#readline.prompt();
  }

  /** Returns true to leave. */
  async #handle(cell: string): Promise<boolean> {
    if (cell.trim() === "") return false;
    if (LEAVES[this.#language].test(cell.trim())) return true;
    // A paused readline leaves Ctrl-C to the process, where it interrupts the cell. After the last line it is closed.
    this.#lines.rest();
    if (this.#tty) process.stdin.setRawMode(false);
    try {
      if (cell.startsWith("/")) return await this.#command(cell);
      const { context, timeout } = this.#flags;
      await showLive(this.#session.stream(cell, { context, timeoutS: timeout }), this.#flags);
    } catch (error) {
      explain(error);
    } finally {
      if (this.#tty) process.stdin.setRawMode(!this.#lines.closed);
      this.#lines.listen();
    }
    return false;
  }

  async #command(line: string): Promise<boolean> {
    const [name, ...words] = line.slice(1).trim().split(/\s+/);
    const session = this.#session;
    switch (name) {
      case "quit":
      case "exit":
        return true;
      case "state":
        for (const variable of (await session.state({ context: this.#flags.context })).variables)
          process.stdout.write(`${variable.name}  ${dim(variable.type)}  ${clean(variable.repr)}\n`);
        return false;
      case "sh":
        await showLive(session.stream(words.join(" "), { language: "bash" }));
        return false;
      case "restart": {
        const contexts = await session.contexts.list();
        const name =
          this.#flags.context ?? contexts.find(({ language }) => language === this.#language)?.name;
        if (name) await session.contexts.restart(name);
        process.stderr.write(dim("a fresh kernel; files stay\n"));
        return false;
      }
      case "files":
        for (const entry of await session.files.list(words[0]))
          process.stdout.write(`${clean(entry.path)}  ${dim(size(entry.size))}\n`);
        return false;
      case "artifacts":
        for await (const artifact of session.artifacts.list())
          process.stdout.write(`${artifact.id}  ${clean(artifact.name)}  ${dim(size(artifact.size))}\n`);
        return false;
      default:
        process.stdout.write(`${HELP}\n`);
        return false;
    }
  }
}
