/**
 * Simulated guests, many in one process: they speak the guest's protocol over the real socket of their box, outlive
 * their daemon as containers do, and run no code. Code is the name of an operation, which a guest writes into its ledger
 * and says. `node bench/load/simulated-guests.ts <folder>`: listens on `guests.sock` there, a JSON object a line.
 *
 * @module
 */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { type DaemonMessage, GUEST_PROTOCOL_VERSION, readJson } from "@sandbar/shared";

export interface Simulated {
  readonly sandbox: string;
  readonly box: string;
  readonly session: string;
  readonly socket: string;
  readonly createdAt: number;
}

const folder = path.resolve(process.argv[2] ?? ".");
const ledgers = path.join(folder, "ledgers");
const REDIAL_MS = [20, 40, 80, 160, 320, 640, 1000];
const RUN_MS = 3;

/** Its own errors are the socket's, too. */
const linesOf = (link: Socket) => createInterface({ input: link }).on("error", () => {});

interface Execution {
  readonly events: Record<string, unknown>[];
  acked: number;
  done: boolean;
}

class SimulatedGuest {
  readonly about: Simulated;
  readonly #executions = new Map<string, Execution>();
  readonly #contexts = new Map<string, string>();
  #token: string | undefined;
  #link: Socket | null = null;
  #dials = 0;
  #gone = false;

  constructor(about: Simulated) {
    this.about = about;
    this.#dial();
  }

  end(): void {
    this.#gone = true;
    this.#link?.destroy();
  }

  #dial(): void {
    if (this.#gone) return;
    const link = connect(this.about.socket);
    link.on("error", () => {});
    link.on("close", () => {
      if (this.#link === link) this.#link = null;
      const wait = REDIAL_MS[Math.min(this.#dials++, REDIAL_MS.length - 1)]!;
      if (!this.#gone) setTimeout(() => this.#dial(), wait);
    });
    link.on("connect", () => {
      this.#link = link;
      this.#say({
        type: "hello",
        v: GUEST_PROTOCOL_VERSION,
        token: this.#token,
        languages: ["python"],
        contexts: Array.from(this.#contexts, ([context, language]) => ({
          context,
          language,
          state: "ready",
        })),
        executions: Array.from(this.#executions, ([execution, { events, done }]) => ({
          execution,
          last_seq: events.length,
          done,
        })),
      });
    });
    linesOf(link).on("line", (line) => {
      this.#dials = 0;
      const message = readJson(line) as DaemonMessage | undefined;
      // A daemon that was killed has said half of its last line.
      if (message) this.#hear(message);
    });
  }

  #say(message: object): void {
    this.#link?.write(`${JSON.stringify(message)}\n`);
  }

  #hear(message: DaemonMessage): void {
    switch (message.type) {
      case "welcome":
        this.#token = message.token;
        return;
      case "context.open":
        this.#contexts.set(message.context, message.language);
        this.#say({ type: "context", context: message.context, state: "ready", detail: "" });
        return;
      case "run":
        if (!this.#executions.has(message.execution)) this.#run(message.execution, message.code);
        return;
      case "ack": {
        const execution = this.#executions.get(message.execution);
        if (execution) execution.acked = Math.max(execution.acked, message.seq);
        if (message.final) this.#executions.delete(message.execution);
        return;
      }
      case "replay": {
        const events = this.#executions.get(message.execution)?.events.slice(message.seq) ?? [];
        for (const event of events) this.#say({ type: "event", execution: message.execution, event });
        return;
      }
      case "call":
        this.#say({ type: "answer", id: message.id, result: {} });
        return;
      default:
        return;
    }
  }

  #run(execution: string, code: string): void {
    const kept: Execution = { events: [], acked: 0, done: false };
    this.#executions.set(execution, kept);
    const tell = (event: Record<string, unknown>) => {
      const numbered = { ...event, seq: kept.events.length + 1 };
      kept.events.push(numbered);
      this.#say({ type: "event", execution, event: numbered });
    };
    tell({ type: "started" });
    appendFileSync(path.join(ledgers, `${this.about.session}.txt`), `${code}\n`);
    setTimeout(() => {
      tell({ type: "stdout", text: `${code}\n` });
      kept.done = true;
      tell({
        type: "done",
        status: "ok",
        exit_code: null,
        exit: null,
        totals: { stdout: code.length + 1, stderr: 0 },
        artifacts: [],
      });
    }, RUN_MS);
  }
}

const guests = new Map<string, SimulatedGuest>();
mkdirSync(ledgers, { recursive: true });

/** Asked for and answered in one line each. */
export type Wish =
  | { readonly wish: "make"; readonly guest: Simulated }
  | { readonly wish: "remove"; readonly sandbox: string }
  | { readonly wish: "list" };

function grant(wish: Wish): unknown {
  if (wish.wish === "make") guests.set(wish.guest.sandbox, new SimulatedGuest(wish.guest));
  if (wish.wish === "remove") {
    guests.get(wish.sandbox)?.end();
    guests.delete(wish.sandbox);
  }
  return wish.wish === "list" ? Array.from(guests.values(), ({ about }) => about) : null;
}

const socket = path.join(folder, "guests.sock");
rmSync(socket, { force: true });
createServer((link) => {
  link.on("error", () => {});
  linesOf(link).on("line", (line) => link.write(`${JSON.stringify(grant(JSON.parse(line)) ?? null)}\n`));
}).listen(socket, () => {
  writeFileSync(path.join(folder, "guests.pid"), String(process.pid));
  process.stdout.write("ready\n");
});
