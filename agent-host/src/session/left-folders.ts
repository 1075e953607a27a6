/**
 * What becomes of the folders of BIND sessions when their sessions are over: they are settled, kept for a while, and
 * removed then or when somebody says so. The journal knows of each until it is gone.
 *
 * @module
 */
import type { CallHandlers, MethodsOf } from "@sandbar/shared";
import type { BindFolders } from "../box/bind-folders.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { FolderRow, Journal } from "../journal/journal.ts";

export interface LeftFoldersOptions {
  readonly config: Pick<Config, "bindTtlMs">;
  readonly journal: Journal;
  readonly folders: BindFolders;
  readonly log: Log;
}

export class LeftFolders {
  readonly #options: LeftFoldersOptions;
  readonly #working = new Map<string, Promise<void>>();

  constructor(options: LeftFoldersOptions) {
    this.#options = options;
  }

  get calls(): CallHandlers<MethodsOf<"folders">, []> {
    return {
      "folders.remove": async ({ session }) => {
        const { journal } = this.#options;
        journal.folderUnwanted(session);
        await this.#working.get(session)?.catch(() => {});
        const row = journal.folder(session);
        // Of a session that is not over yet it goes as soon as it is.
        if (row && row.ended !== null) await this.#remove(session);
        return row !== null;
      },
    };
  }

  /** Before sessions are adopted: a restart of the machine has unmounted what they have. */
  async start(): Promise<void> {
    const { journal, folders, log } = this.#options;
    for (const { session, ended } of journal.folders())
      await (ended === null ? folders.restore(session) : folders.settle(session)).catch((error) =>
        log.warn({ err: error, session }, "a session's folder could not be mounted again"),
      );
  }

  /** Nothing runs in the session any more, and nobody writes to its folder. */
  async over(session: string): Promise<void> {
    const { journal, folders, log } = this.#options;
    await this.#inTurn(session, async () => {
      await folders
        .settle(session)
        .catch((error) =>
          log.warn({ err: error, session }, "a session's folder stays a file system of its own"),
        );
      journal.folderEnded(session, Date.now());
    });
    if (journal.folder(session)?.unwanted) await this.#remove(session);
  }

  /** `isOver` says whether a session that the journal has as living is so no more. */
  async sweep(isOver: (row: FolderRow) => boolean): Promise<void> {
    const { config, journal, log } = this.#options;
    for (const row of journal.folders()) {
      const { session, ended, unwanted } = row;
      const late = ended !== null && config.bindTtlMs > 0 && Date.now() - ended > config.bindTtlMs;
      try {
        if (ended === null && isOver(row)) await this.over(session);
        else if (ended !== null && (unwanted || late)) await this.#remove(session);
      } catch (error) {
        // One that cannot go must not keep the others.
        log.warn({ err: error, session }, "a session's folder is left to the next sweep");
      }
    }
  }

  /** Of what has begun. */
  async finished(): Promise<void> {
    await Promise.allSettled(this.#working.values());
  }

  #remove(session: string): Promise<void> {
    const { folders, journal, log } = this.#options;
    return this.#inTurn(session, async () => {
      await folders.remove(session);
      journal.forgetFolder(session);
      log.info({ session }, "removed a session's folder");
    });
  }

  #inTurn(session: string, work: () => Promise<void>): Promise<void> {
    const next = (this.#working.get(session) ?? Promise.resolve()).catch(() => {}).then(work);
    this.#working.set(session, next);
    const forget = () => {
      if (this.#working.get(session) === next) this.#working.delete(session);
    };
    next.then(forget, forget);
    return next;
  }
}
