/** @module Keeps a child process running: starts it again when it dies, with backoff, until told to stop. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const SETPRIV = "/usr/bin/setpriv";
const BACKOFF_MS = { first: 200, max: 10_000 };
/** A child that lived this long earns a fresh backoff. */
const HEALTHY_AFTER_MS = 20_000;
const STOP_GRACE_MS = 8_000;

export interface ChildSpec {
  name: string;
  command: string[];
  env: Record<string, string | undefined>;
  logFile: string;
  /** Exit codes after which starting again makes no sense, with what to tell the user. */
  final: Record<number, string>;
  /** Called with each line of standard output. */
  onLine?: (line: string) => void;
  say: (line: string) => void;
}

export class Supervised {
  #spec: ChildSpec;
  #child: ChildProcess | null = null;
  #stopping = new AbortController();
  #done: Promise<number | null>;

  constructor(spec: ChildSpec) {
    this.#spec = spec;
    this.#done = this.#loop();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The final code that the child ended with; null when it was stopped. */
  get done(): Promise<number | null> {
    return this.#done;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill("SIGTERM");
    const late = AbortSignal.timeout(STOP_GRACE_MS);
    late.addEventListener("abort", () => this.#child?.kill("SIGKILL"));
    await this.#done;
  }

  async #loop(): Promise<number | null> {
    let backoff = BACKOFF_MS.first;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const began = Date.now();
      const code = await this.#runOnce();
      if (signal.aborted) return null;
      const final = this.#spec.final[code];
      if (final !== undefined) {
        this.#spec.say(`${this.#spec.name} ended: ${final}`);
        return code;
      }
      if (Date.now() - began > HEALTHY_AFTER_MS) backoff = BACKOFF_MS.first;
      this.#spec.say(
        `${this.#spec.name} ended with code ${code}; starting it again in ${backoff} ms (log: ${this.#spec.logFile})`,
      );
      await sleep(backoff, undefined, { signal }).catch(() => {});
      backoff = Math.min(backoff * 2, BACKOFF_MS.max);
    }
    return null;
  }

  #runOnce(): Promise<number> {
    const log = openSync(this.#spec.logFile, "a", 0o600);
    // A supervisor that is killed takes its children along; they would otherwise hold the port and the lock.
    const leash = existsSync(SETPRIV) ? [SETPRIV, "--pdeathsig", "TERM"] : [];
    const [file, ...args] = [...leash, ...this.#spec.command];
    const child = spawn(file!, args, {
      env: { ...process.env, ...this.#spec.env },
      stdio: ["ignore", "pipe", log],
      // A group of its own, so that Ctrl-C reaches only the supervisor, which stops its children in order.
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    let buffered = "";
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      buffered += text;
      const lines = buffered.split("\n");
      buffered = lines.pop()!.slice(-65_536);
      for (const line of lines) this.#spec.onLine?.(line);
    });
    return new Promise((resolve) => {
      child.once("error", () => resolve(127));
      child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
    });
  }
}
