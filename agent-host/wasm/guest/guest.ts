/** @module The guest of a session in WebAssembly: what the daemon says, and who does it. Nobody's code runs in its process. */
import { Artifacts } from "./artifacts.ts";
import { Calls } from "./calls.ts";
import { Context, type ContextParts } from "./context.ts";
import { Journal, type RunRequest } from "./journal.ts";
import { Kernels } from "./kernels.ts";
import { CONTEXTS, QUIET_LOOKS, STORAGE_LOOK_MS } from "./limits.ts";
import { Link } from "./link.ts";
import { MemoryWatch, openForWriting } from "./memory-watch.ts";
import { near } from "./near.ts";
import type { GuestStart } from "./start.ts";
import { Storage } from "./storage.ts";
import { Transfers } from "./transfers.ts";

const PROTOCOL_VERSION = 1;
const LANGUAGE = "python";

type Message = { type: string } & Record<string, unknown>;

export class Guest {
  readonly #link: Link;
  readonly #journal: Journal;
  readonly #kernels: Kernels;
  readonly #contexts = new Map<string, Context>();
  readonly #calls: Calls;
  readonly #parts: ContextParts;
  #token: string | null = null;
  #quietLooks = 0;

  constructor(start: GuestStart) {
    const session = start.mounts.find(({ at }) => at === "/session")!.root;
    this.#kernels = new Kernels(start);
    const pids = () => Array.from(this.#kernels.alive, ({ pid }) => pid);
    const storage = new Storage(start.mounts, start.storageMb, pids);
    const artifacts = new Artifacts(session);
    this.#link = new Link({
      path: near(start.socket),
      awayMs: start.awayMs,
      hello: () => this.#hello(),
      onWelcome: (token) => {
        this.#token = token;
      },
      onMessage: (message) => this.#onMessage(message),
      onForsaken: () => process.exit(0),
    });
    this.#journal = new Journal(
      (line) => this.#link.send(line),
      () => this.#holdAll(false),
    );
    const memory = new MemoryWatch(
      () => this.#kernels.alive,
      () => this.#busy(),
      start.memoryMb,
      start.cgroup,
    );
    this.#parts = {
      link: this.#link,
      journal: this.#journal,
      kernels: this.#kernels,
      artifacts,
      storage,
      holdAll: () => this.#holdAll(true),
      onGone: (context) => {
        if (this.#contexts.get(context.name) === context) this.#contexts.delete(context.name);
      },
      wasKilledForMemory: () => memory.struck(),
    };
    this.#calls = new Calls({
      storage,
      artifacts,
      transfers: new Transfers(near(start.socket), () => this.#token ?? "", storage),
      context: (name) => this.#contexts.get(String(name)),
      openForWriting: () => openForWriting(pids(), session),
      send: (line) => this.#link.send(line),
    });
    if (!storage.bounded) setInterval(() => this.#watchStorage(storage), STORAGE_LOOK_MS);
  }

  async run(): Promise<void> {
    await this.#kernels.listen();
    this.#link.dial();
  }

  #hello(): object {
    this.#journal.holdAll();
    return {
      type: "hello",
      v: PROTOCOL_VERSION,
      languages: [LANGUAGE],
      contexts: Array.from(this.#contexts.values(), ({ name, language, state, lost }) => ({
        ...{ context: name, language, state, lost },
      })),
      executions: this.#journal.inventory(),
      ...(this.#token !== null && { token: this.#token }),
    };
  }

  #onMessage(message: Message): void {
    const context = this.#contexts.get(String(message.context));
    const execution = this.#journal.find(String(message.execution));
    switch (message.type) {
      case "run":
        this.#run(message as unknown as RunRequest);
        break;
      case "ack":
        this.#journal.ack(String(message.execution), Number(message.seq), message.final === true);
        break;
      case "replay":
        this.#journal.replay(String(message.execution), Number(message.seq));
        break;
      case "interrupt":
        if (execution) execution.context?.interrupt(execution);
        break;
      case "kill":
        if (execution) execution.context?.kill(execution);
        break;
      case "call":
        void this.#calls.handle(message as { id?: unknown; method?: unknown; params?: unknown });
        break;
      case "context.open":
        this.#open(String(message.context), String(message.language), envOf(message));
        break;
      case "context.env":
        context?.setEnv(envOf(message));
        break;
      case "context.restart":
        context?.restart();
        break;
      case "context.close":
        context?.close();
        break;
      case "shutdown":
        process.exit(0);
    }
  }

  #run(request: RunRequest): void {
    let context = this.#contexts.get(request.context);
    const execution = this.#journal.admit(context ?? null, request);
    if (!execution) return;
    if (!context || context.closed) context = this.#open(request.context, request.language, {}) ?? undefined;
    if (!context || context.full()) {
      const value = `this session cannot run ${request.language}, or too many contexts or executions wait`;
      this.#journal.event(execution, "error", { name: "CONTEXT_UNAVAILABLE", value, traceback: "" });
      const totals = { stdout: 0, stderr: 0, results_dropped: 0 };
      this.#journal.end(execution, { status: "error", exit_code: null, exit: null, totals });
      return;
    }
    execution.context = context;
    context.submit(execution);
  }

  #open(name: string, language: string, env: Record<string, string>): Context | null {
    const known = this.#contexts.get(name);
    if (known && !known.closed) return known;
    if (language !== LANGUAGE || this.#contexts.size >= CONTEXTS) {
      const detail =
        language === LANGUAGE ? "too many contexts" : `a session in WebAssembly runs Python, not ${language}`;
      this.#link.send(`${JSON.stringify({ type: "context", context: name, state: "dead", detail })}\n`);
      return null;
    }
    const context = new Context(this.#parts, name, env);
    this.#contexts.set(name, context);
    return context;
  }

  #holdAll(held: boolean): void {
    for (const context of this.#contexts.values()) context.hold(held);
  }

  #busy(): boolean {
    return [...this.#contexts.values()].some(({ running, state }) => running || state === "starting");
  }

  /** What code writes past its own count is noticed here; of what it does when none of it should run, less often. */
  #watchStorage(storage: Storage): void {
    if (!this.#busy() && ++this.#quietLooks % QUIET_LOOKS !== 0) return;
    const contexts = [...this.#contexts.values()];
    const room = storage.room()!;
    if (room === 0 && storage.overrun) for (const context of contexts) context.endForStorage();
    else for (const context of contexts) context.tellRoom(room);
  }
}

function envOf({ env }: Message): Record<string, string> {
  return (env ?? {}) as Record<string, string>;
}
