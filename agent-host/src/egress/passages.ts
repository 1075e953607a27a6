/**
 * What a session's code connects to: counted, cut when it may not be any more, and told in lines, a bounded number of
 * them a second.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { cut, NETWORK_LINES, type NetworkConnection, type NetworkUse } from "@sandbar/shared";
import { Refusal } from "./refusal.ts";
import type { Target } from "./target.ts";

const TELL_MS = 1_000;
const DETAIL_CHARS = 300;
const NOT_ALLOWED = "the session's network does not allow it any more";

/** Bytes both ways, since this began to count. */
export interface Carried {
  readonly since: string;
  readonly bytes: number;
}

export type TellPassages = (connections: NetworkConnection[], dropped: number, carried: Carried) => void;

export class Passages {
  readonly #tell: TellPassages;
  readonly #open = new Set<Passage>();
  /** Of connections that carry several requests: what earlier ones took. */
  readonly #counted = new WeakMap<Socket, { up: number; down: number }>();
  readonly #recent: NetworkConnection[] = [];
  readonly #total = { connections: 0, denied: 0, bytes_up: 0, bytes_down: 0 };
  #waiting: NetworkConnection[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;
  readonly #since = randomUUID();
  #told = 0;

  constructor(tell: TellPassages) {
    this.#tell = tell;
  }

  /** `client`: the connection from the sandbox. */
  begin(target: Target, client: Socket): Passage {
    const passage = new Passage(target, client, (error) => this.#ended(passage, error));
    this.#open.add(passage);
    this.#tellSoon();
    return passage;
  }

  /** Ends those that are not allowed any more. */
  review(allowed: (target: Target) => boolean, reason?: string): void {
    for (const passage of this.#open) if (!allowed(passage.target)) passage.cut(reason);
  }

  get open(): number {
    return this.#open.size;
  }

  get use(): NetworkUse {
    const { connections, denied, bytes_up, bytes_down } = this.#total;
    const open = [...this.#open].map(({ client }) => this.#bytes(client));
    return {
      open: open.length,
      connections: connections + open.length,
      denied,
      bytes_up: open.reduce((sum, { up }) => sum + up, bytes_up),
      bytes_down: open.reduce((sum, { down }) => sum + down, bytes_down),
      recent: [...this.#recent],
    };
  }

  #ended(passage: Passage, error: Error | null): void {
    this.#open.delete(passage);
    const { target, client } = passage;
    const { up, down } = this.#bytes(client);
    this.#counted.set(client, { up: client.bytesRead, down: client.bytesWritten });
    const denied = error instanceof Refusal && error.denied;
    this.#total.connections++;
    if (denied) this.#total.denied++;
    this.#total.bytes_up += up;
    this.#total.bytes_down += down;
    this.#add({
      at: new Date(passage.beganAt).toISOString(),
      ...target,
      outcome: denied ? "denied" : error ? "failed" : "ok",
      detail: error ? cut(error.message, DETAIL_CHARS) : "",
      bytes_up: up,
      bytes_down: down,
      duration_ms: Math.round(passage.duration),
    });
  }

  #bytes(client: Socket): { up: number; down: number } {
    const before = this.#counted.get(client) ?? { up: 0, down: 0 };
    return { up: client.bytesRead - before.up, down: client.bytesWritten - before.down };
  }

  #add(line: NetworkConnection): void {
    this.#recent.push(line);
    if (this.#recent.length > NETWORK_LINES) this.#recent.shift();
    if (this.#waiting.length < NETWORK_LINES) this.#waiting.push(line);
    else this.#dropped++;
    this.#tellSoon();
  }

  #tellSoon(): void {
    this.#timer ??= setTimeout(() => this.#flush(), TELL_MS).unref();
  }

  /** Of what stays open its bytes are told as they come. */
  #flush(): void {
    this.#timer = null;
    const { bytes_up, bytes_down } = this.use;
    const bytes = bytes_up + bytes_down;
    if (this.#waiting.length > 0 || bytes > this.#told)
      this.#tell(this.#waiting, this.#dropped, { since: this.#since, bytes });
    this.#told = bytes;
    this.#waiting = [];
    this.#dropped = 0;
    if (this.#open.size > 0) this.#tellSoon();
  }
}

export class Passage {
  readonly target: Target;
  readonly client: Socket;
  readonly beganAt = Date.now();
  readonly #began = performance.now();
  readonly #onEnd: (error: Error | null) => void;
  #cut: string | null = null;
  #over = false;

  constructor(target: Target, client: Socket, onEnd: (error: Error | null) => void) {
    this.target = target;
    this.client = client;
    this.#onEnd = onEnd;
  }

  get duration(): number {
    return performance.now() - this.#began;
  }

  cut(reason = NOT_ALLOWED): void {
    this.#cut = reason;
    this.client.destroy();
    this.end(null);
  }

  end(error: Error | null): void {
    if (this.#over) return;
    this.#over = true;
    this.#onEnd(this.#cut === null ? error : new Refusal(403, this.#cut));
  }
}
