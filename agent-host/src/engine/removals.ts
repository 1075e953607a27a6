/**
 * Boxes on their way out. A session has ended when its processes have and its artifacts are safe; that the engine takes a
 * while longer to clear away is nobody's wait. The journal knows of each box until it is gone, so a crash leaves nothing behind.
 *
 * @module
 */
import path from "node:path";
import { boxesFolder, removeBoxFolder } from "../box/box-folders.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Journal } from "../journal/journal.ts";
import type { Box } from "./box.ts";
import type { Engine, FoundSandbox } from "./engine.ts";

const AGAIN_MS = 5000;

export interface RemovalsOptions {
  readonly config: Config;
  readonly engine: Pick<Engine, "remove">;
  readonly journal: Journal;
  readonly log: Log;
}

export class Removals {
  readonly #options: RemovalsOptions;
  readonly #removing = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(options: RemovalsOptions) {
    this.#options = options;
  }

  owns(box: string): boolean {
    return this.#removing.has(box);
  }

  /** What earlier daemons had not finished. */
  resume(found: readonly FoundSandbox[]): void {
    const { engine, journal, config } = this.#options;
    for (const id of journal.leavingBoxes())
      void this.#remove(id, async () => {
        for (const sandbox of found) if (sandbox.box === id) await engine.remove(sandbox.id);
        await removeBoxFolder(path.join(boxesFolder(config.home), id));
      });
  }

  /** Resolves when it is gone; nobody has to wait. */
  add(id: string, box: Box, sandbox: string | null): Promise<void> {
    const { engine, journal } = this.#options;
    journal.addLeavingBox(id);
    return this.#remove(id, async () => {
      if (!box.sandbox && sandbox) await engine.remove(sandbox);
      await box.destroy();
    });
  }

  async finished(): Promise<void> {
    await Promise.all(this.#removing.values());
  }

  /** Leaves what is under way to the next daemon. */
  stop(): void {
    this.#stopped = true;
  }

  #remove(id: string, work: () => Promise<void>): Promise<void> {
    const { journal, log } = this.#options;
    const attempt = async () => {
      await work();
      if (!this.#stopped) journal.forgetLeavingBox(id);
      this.#removing.delete(id);
    };
    const removed = attempt().catch((error) => {
      log.error({ err: error, box: id }, "could not clear a box away; trying again");
      setTimeout(() => {
        if (!this.#stopped) void this.#remove(id, work);
      }, AGAIN_MS);
    });
    this.#removing.set(id, removed);
    return removed;
  }
}
