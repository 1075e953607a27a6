/**
 * Boxes on their way out. A session has ended when its processes have and its artifacts are safe; that Docker takes a while
 * longer to clear away is nobody's wait. The journal knows of each box until it is gone, so a crash leaves nothing behind.
 *
 * @module
 */
import path from "node:path";
import type { Containers, OwnContainer } from "../docker/containers.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Journal } from "../journal/journal.ts";
import type { Box } from "./box.ts";
import { boxesFolder, removeBoxFolder } from "./box-folders.ts";

const AGAIN_MS = 5000;

export interface RemovalsContext {
  readonly config: Config;
  readonly containers: Containers;
  readonly journal: Journal;
  readonly log: Log;
}

export class Removals {
  readonly #context: RemovalsContext;
  readonly #removing = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(context: RemovalsContext) {
    this.#context = context;
  }

  owns(box: string): boolean {
    return this.#removing.has(box);
  }

  /** What earlier daemons had not finished. */
  resume(found: readonly OwnContainer[]): void {
    const { containers, journal, config } = this.#context;
    for (const id of journal.leavingBoxes())
      this.#remove(id, async () => {
        for (const container of found) if (container.box === id) await containers.remove(container.id);
        await removeBoxFolder(path.join(boxesFolder(config.home), id));
      });
  }

  /** Resolves when it is gone; nobody has to wait. */
  add(id: string, box: Box, container: string | null): Promise<void> {
    const { containers, journal } = this.#context;
    journal.addLeavingBox(id);
    return this.#remove(id, async () => {
      if (!box.container && container) await containers.remove(container);
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
    const { journal, log } = this.#context;
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
