/** @module `sandbar repl`: a prompt on a kernel that keeps its variables. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Session } from "@sandbar/sdk";
import type { Language } from "@sandbar/shared";
import type { Command } from "commander";
import { explain } from "../invocation/explain.ts";
import { addSessionFlags, cli, number, type SessionFlags, sessionFor } from "../invocation/global-options.ts";
import { showLive } from "../terminal/live.ts";
import { clean, dim, size } from "../terminal/print.ts";
import { wantsMore } from "../terminal/wants-more.ts";

const HISTORY_FILE = join(process.env.XDG_STATE_HOME ?? join(homedir(), ".local/state"), "sandbar/history");
const HISTORY_LINES = 1000;
const HELP = `/help  this text        /state  variables        /sh <command>  a shell command
/restart  a fresh kernel  /files [path]  list files  /artifacts  what was kept
/quit  leave (Ctrl-D)     Ctrl-C interrupts the running cell, or clears the line`;

interface ReplFlags extends SessionFlags {
  context?: string;
  timeout?: number;
}

export function addRepl(program: Command): void {
  addSessionFlags(program.command("repl"))
    .description("an interactive prompt; variables stay between cells")
    .option("--context <name>", "kernel to talk to")
    .option("-t, --timeout <seconds>", "time limit of each cell", number)
    .option("--keep", "keep the session after leaving")
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
  readonly #tty = process.stdin.isTTY === true;
  #closed = false;

  constructor(session: Session, flags: ReplFlags) {
    this.#session = session;
    this.#flags = flags;
    this.#language = session.info.runtime;
    this.#readline = createInterface({
      input: process.stdin,
      output: this.#tty ? process.stdout : undefined,
      history: this.#tty && existsSync(HISTORY_FILE) ? readFileSync(HISTORY_FILE, "utf8").split("\n") : [],
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
    });
    this.#readline.once("close", () => {
      this.#closed = true;
    });
    this.#readline.on("history", (lines) => {
      mkdirSync(dirname(HISTORY_FILE), { recursive: true, mode: 0o700 });
      writeFileSync(HISTORY_FILE, lines.join("\n"), { mode: 0o600 });
    });
  }

  async loop(): Promise<void> {
    if (this.#tty)
      process.stderr.write(dim(`${this.#language} in ${this.#session.id}; /help, Ctrl-D leaves\n`));
    let cell = "";
    let left = false;
    // Ctrl-C at the prompt clears what was typed; while a cell runs, showLive listens instead.
    this.#readline.on("SIGINT", () => {
      cell = "";
      this.#readline.write(null, { ctrl: true, name: "e" });
      this.#readline.write(null, { ctrl: true, name: "u" });
      process.stdout.write("\n");
      this.#prompt(cell);
    });
    this.#prompt(cell);
    for await (const line of this.#readline) {
      cell = cell === "" ? line : `${cell}\n${line}`;
      if (cell.startsWith("/") || !wantsMore(cell, this.#language)) {
        const complete = cell;
        cell = "";
        left = await this.#handle(complete);
        if (left) break;
      }
      this.#prompt(cell);
    }
    if (cell.trim() !== "") await this.#handle(cell);
    this.#readline.close();
    if (this.#tty && !left) process.stdout.write("\n");
  }

  #prompt(cell: string): void {
    if (!this.#tty) return;
    this.#readline.setPrompt(cell === "" ? ">>> " : "... ");
    this.#readline.prompt();
  }

  /** Returns true to leave. */
  async #handle(cell: string): Promise<boolean> {
    if (cell.trim() === "") return false;
    // A paused readline leaves Ctrl-C to the process, where it interrupts the cell. After the last line it is closed.
    if (!this.#closed) this.#readline.pause();
    if (this.#tty) process.stdin.setRawMode(false);
    try {
      if (cell.startsWith("/")) return await this.#command(cell);
      const { context, timeout } = this.#flags;
      await showLive(this.#session.stream(cell, { context, timeoutS: timeout }));
    } catch (error) {
      explain(error);
    } finally {
      if (this.#tty) process.stdin.setRawMode(!this.#closed);
      if (!this.#closed) this.#readline.resume();
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
