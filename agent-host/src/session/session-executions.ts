/**
 * The executions of one session, and whose turn it is: contexts run in parallel, executions of one context in order,
 * one of them in the guest at a time.
 *
 * @module
 */
import type { Execution } from "../execution/execution.ts";
import type { SettledOutcomes } from "../execution/settled-outcomes.ts";
import type { GuestHello } from "../guest/guest-channel.ts";
import type { ContextCommand, Journal } from "../journal/journal.ts";

export interface ExecutionsHost {
  readonly journal: Journal;
  readonly settled: SettledOutcomes;
  /** Whether a guest is there and the session is ready for code. */
  isOpen(): boolean;
  /** What must be in the session before code runs; null when there is nothing to wait for. */
  beforeExecution(): Promise<void> | null;
  openContext(context: string, language: string): void;
  toGuest(message: { type: "context.restart" | "context.close"; context: string } | GuestAck): boolean;
}

type GuestAck = { type: "ack"; execution: string; seq: number; final: boolean };

export class SessionExecutions {
  readonly #session: string;
  readonly #host: ExecutionsHost;
  readonly #executions = new Map<string, Execution>();
  /** Contexts that the guest has been told to open. */
  readonly #contexts = new Set<string>();

  #commandsWait = true;
  readonly #preparations = new Map<string, "running" | "done">();

  constructor(session: string, host: ExecutionsHost) {
    this.#session = session;
    this.#host = host;
  }

  get size(): number {
    return this.#executions.size;
  }

  /** Where they are: waiting for their turn, in the guest, ended with artifacts on their way, ended and not yet told of. */
  counts(): Record<"waiting" | "running" | "ingesting" | "reporting", number> {
    const counts = { waiting: 0, running: 0, ingesting: 0, reporting: 0 };
    for (const { finished, ingesting, waiting } of this.#executions.values())
      counts[finished ? "reporting" : ingesting ? "ingesting" : waiting ? "waiting" : "running"]++;
    return counts;
  }

  get(id: string): Execution | undefined {
    return this.#executions.get(id);
  }

  add(execution: Execution): void {
    this.#executions.set(execution.id, execution);
  }

  /** A guest says what it knows; what it does not know of was lost on its way and is sent now. */
  onHello(hello: GuestHello): void {
    this.#contexts.clear();
    for (const { context } of hello.contexts) this.#contexts.add(context);
    const known = new Map(hello.executions.map((e) => [e.execution, e]));
    for (const execution of this.#executions.values()) execution.onGuest(known.get(execution.id));
    // Acknowledged while the guest was away: it may forget them now, since the journal says so.
    this.#host.journal.flush();
    for (const { execution, last_seq } of known.values())
      if (!this.#executions.has(execution))
        this.#host.toGuest({ type: "ack", execution, seq: last_seq, final: true });
    this.pump();
  }

  onGuestDown(): void {
    for (const execution of this.#executions.values()) execution.onGuestDown();
  }

  onWelcome(): void {
    for (const execution of this.#executions.values()) execution.onWelcome();
  }

  onAck(id: string, seq: number, final: boolean): boolean {
    const found = this.#executions.get(id);
    if (!found) return false;
    // Code that still runs is not forgotten: somebody has to end it, and its outcome will be acknowledged again.
    const forget = final && found.finished;
    found.onAck(seq, forget);
    if (forget) {
      this.#executions.delete(id);
      this.#preparations.delete(id);
    }
    return true;
  }

  onResend(id: string, seq: number): boolean {
    const found = this.#executions.get(id);
    found?.onResend(seq);
    return found !== undefined;
  }

  /** Gives each free context its next execution, after the context commands that came before. */
  pump(): void {
    if (!this.#host.isOpen()) return;
    if (this.#commandsWait) this.#contextCommands();
    const busy = new Set<string>();
    for (const execution of this.#executions.values()) {
      if (execution.finished || busy.has(execution.context)) continue;
      busy.add(execution.context);
      if (!execution.waiting || !this.#prepared(execution.id)) continue;
      if (!this.#contexts.has(execution.context))
        this.openContext(execution.context, execution.row.command.language);
      execution.start();
    }
  }

  /** False while something is on its way into the session; the pump is started again after that. */
  #prepared(id: string): boolean {
    const known = this.#preparations.get(id);
    if (known === "running") return false;
    this.#preparations.delete(id);
    if (known === "done") return true;
    const preparation = this.#host.beforeExecution();
    if (!preparation) return true;
    this.#preparations.set(id, "running");
    void preparation.finally(() => {
      this.#preparations.set(id, "done");
      this.pump();
    });
    return false;
  }

  /** Durable context commands wait in the journal until a guest is there to take them. */
  onContextCommand(): void {
    this.#commandsWait = true;
    this.pump();
  }

  openContext(context: string, language: string): void {
    this.#contexts.add(context);
    this.#host.openContext(context, language);
  }

  /** Resolves when nothing is on its way out any more. */
  async ingested(): Promise<void> {
    await Promise.all([...this.#executions.values()].map((execution) => execution.ingesting));
  }

  /** Ends every kernel; for a session that is stopped. */
  closeContexts(): void {
    for (const context of this.#contexts) this.#host.toGuest({ type: "context.close", context });
    this.#contexts.clear();
  }

  /** The sandbox is gone: every execution has its outcome now, which needs no guest any more to be reported. */
  end(reason: string, stopped: boolean): void {
    for (const execution of this.#executions.values()) {
      execution.boxDied(reason, stopped);
      if (execution.row.outcome) this.#host.settled.add(this.#session, execution.id, execution.row.outcome);
    }
    this.#executions.clear();
  }

  #contextCommands(): void {
    this.#commandsWait = false;
    for (const { n, command } of this.#host.journal.contextCommands(this.#session)) {
      this.#contextCommand(command);
      this.#host.journal.contextCommandSent(n);
    }
  }

  #contextCommand(command: ContextCommand): void {
    if (command.type === "context.open") {
      this.openContext(command.context, command.language);
      return;
    }
    const asked = command.type === "context.close" ? "close" : "restart";
    for (const execution of [...this.#executions.values()])
      if (execution.context === command.context && (asked === "close" || !execution.waiting))
        execution.end(asked);
    this.#host.toGuest({ type: command.type, context: command.context });
    if (asked === "close") this.#contexts.delete(command.context);
  }
}
