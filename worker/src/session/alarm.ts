/** @module The session's alarm: a Durable Object has one, so it goes off at the earliest time that anybody asked for. */

/** For what could not be done and is to be tried again. */
export const RETRY_MS = 5_000;

export class Alarm {
  readonly #storage: DurableObjectStorage;
  /** Null when it is not known. */
  #at: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Moves it only to an earlier time; on the hot path there is nearly always an earlier one. */
  async wakeAt(time: number): Promise<void> {
    this.#at ??= (await this.#storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
    if (time < this.#at) await this.set(time);
  }

  async set(time: number): Promise<void> {
    this.#at = time;
    await this.#storage.setAlarm(time);
  }

  async retrySoon(): Promise<void> {
    await this.wakeAt(Date.now() + RETRY_MS);
  }

  wentOff(): void {
    this.#at = null;
  }

  async clear(): Promise<void> {
    this.#at = null;
    await this.#storage.deleteAlarm();
  }
}
