/** @module Reads again what changed, however often it changes: one reading at a time for each thing, the last one after the last change. */

const PAUSE_MS = 300;

export class Refresher {
  readonly #read: (path: string) => Promise<unknown>;
  /** Those being read, and whether they changed since that began. */
  readonly #running = new Map<string, boolean>();

  constructor(read: (path: string) => Promise<unknown>) {
    this.#read = read;
  }

  changed(path: string): void {
    if (this.#running.has(path)) this.#running.set(path, true);
    else void this.#run(path);
  }

  async #run(path: string): Promise<void> {
    do {
      this.#running.set(path, false);
      // Changes come in flocks.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      await this.#read(path).catch(() => {});
    } while (this.#running.get(path));
    this.#running.delete(path);
  }
}
