/**
 * Which execution a tool call has started, for `notifications/cancelled`: in the protocols of 2025 it comes as a
 * request of its own. Only plain data is kept, since one request must not touch another's streams. Another isolate
 * knows nothing of it; there, hanging up is what interrupts.
 *
 * @module
 */
const LIMIT = 10_000;

interface Call {
  execution: string | null;
  cancelled: boolean;
}

const calls = new Map<string, Call>();

export class RunningCall {
  readonly #id: string;

  /** `client` tells clients of one key apart: each of them counts its requests from zero. */
  constructor(key: string, client: string, request: string | number) {
    this.#id = JSON.stringify([key, client, request]);
  }

  get cancelled(): boolean {
    return calls.get(this.#id)?.cancelled ?? false;
  }

  started(execution: string): void {
    this.#set({ execution, cancelled: this.cancelled });
  }

  /** The path of the execution to interrupt, if it is known yet. */
  cancel(): string | null {
    const execution = calls.get(this.#id)?.execution ?? null;
    this.#set({ execution, cancelled: true });
    return execution;
  }

  ended(): void {
    calls.delete(this.#id);
  }

  #set(call: Call): void {
    calls.delete(this.#id);
    if (calls.size >= LIMIT) calls.delete(calls.keys().next().value!);
    calls.set(this.#id, call);
  }
}
