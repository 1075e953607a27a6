/** @module What a HostObject remembers of its host across evictions. */
import type { LeaseStatus } from "./lease.ts";

export interface HostMeta {
  readonly host: string;
  /** `x` of the Ed25519 key that was registered at join. */
  readonly public_key: string;
  /** Raised with every hello; frames on a socket of a lower one are dropped. */
  readonly epoch: number;
  readonly status: LeaseStatus;
  readonly last_seen_at: number;
  /** An authenticated socket is open, as far as we were told. */
  readonly connected: boolean;
  /** When the alarm was due: if it rings much later, it was us who were away. */
  readonly check_at: number | null;
  /** The fleet has not heard of the last change. */
  readonly untold: boolean;
}

export class Meta {
  readonly #kv: DurableObjectStorage["kv"];
  #value: HostMeta | null;

  constructor(kv: DurableObjectStorage["kv"]) {
    this.#kv = kv;
    this.#value = kv.get<HostMeta>("host") ?? null;
  }

  /** Null until the first hello. */
  get value(): HostMeta | null {
    return this.#value;
  }

  set(value: HostMeta): HostMeta {
    this.#kv.put("host", value);
    this.#value = value;
    return value;
  }

  update(patch: Partial<HostMeta>): void {
    if (this.#value) this.set({ ...this.#value, ...patch });
  }

  clear(): void {
    this.#value = null;
  }
}

/** What a socket carries through hibernation. */
export type Attachment = Unproven | Linked;

export interface Unproven {
  readonly host: string;
  readonly nonce: string;
  readonly opened_at: number;
  readonly address: string | null;
}

export interface Linked {
  readonly host: string;
  readonly epoch: number;
  /** Names the daemon's process. */
  readonly boot: string;
  /** The last command number that was given out on it. */
  readonly n: number;
}
