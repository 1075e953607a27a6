/**
 * Which execution a tool call has started, for `notifications/cancelled`: in the protocols of 2025 it comes as a
 * request of its own. Only plain data is kept, since one request must not touch another's streams. Another isolate
 * knows nothing of it; there, hanging up is what interrupts.
 *
 * @module
 */
const LIMIT = 10_000;

/** Null: cancelled before the execution was known. */
const calls = new Map<string, string | null>();

export class RunningCall {
  readonly #id: string;

  /** `client` tells clients of one key apart: each of them counts its requests from zero. */
  constructor(key: string, client: string, request: string | number) {
    this.#id = JSON.stringify([key, client, request]);
  }

  /** True when the call was cancelled before its execution was known. */
  started(execution: string): boolean {
    const cancelled = calls.get(this.#id) === null;
    this.#set(execution);
    return cancelled;
  }

  /** The path of the execution to interrupt, if it is known yet. */
  cancel(): string | null {
    const known = calls.get(this.#id);
    if (typeof known === "string") return known;
    this.#set(null);
    return null;
  }

  ended(): void {
    calls.delete(this.#id);
  }

  #set(value: string | null): void {
    calls.delete(this.#id);
    if (calls.size >= LIMIT) calls.delete(calls.keys().next().value!);
    calls.set(this.#id, value);
  }
}
