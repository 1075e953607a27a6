/**
 * Datasets of the sessions on this host: fetched once, checked, kept by hash, copied into `/session/data`. The daemon is the
 * only one who stages, so "is it there, is somebody at it" is asked and answered in one process.
 *
 * @module
 */
import {
  type CallHandlers,
  DATASET_FOLDER,
  type Dataset,
  type DatasetFetch,
  type DatasetStageAnswer,
  type DatasetStageCall,
  type GuestEntry,
  type MethodsOf,
  SandbarError,
} from "@sandbar/shared";
import type { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import { type GuestFiles, writeToGuest } from "../guest/guest-transfers.ts";
import type { Log } from "../host/log.ts";
import { isoTime } from "../io/iso-time.ts";
import { DatasetBytes } from "./dataset-bytes.ts";
import { type Cached, DamagedError, type DatasetCache } from "./dataset-cache.ts";
import { type DatasetJournal, type DatasetRow, described } from "./dataset-journal.ts";

const PER_SESSION = 1000;

export interface DatasetSession extends GuestFiles {
  readonly row: { readonly id: string; readonly tenant: string };
  readonly terminal: boolean;
}

export interface DatasetsContext {
  readonly journal: DatasetJournal;
  readonly cache: DatasetCache;
  readonly http: ControlPlaneHttp;
  readonly log: Log;
}

/** Asked for by no request. */
const AGAIN = "again";

interface Staging {
  readonly asked: string;
  readonly done: Promise<Dataset>;
  /** The dataset is being taken out. */
  unwanted: boolean;
}

export class Datasets {
  readonly #context: DatasetsContext;
  readonly #bytes: DatasetBytes;
  readonly #staging = new Map<string, Staging>();
  /** How to fetch again what the cache has let go: with secrets, so in memory only. */
  readonly #sources = new Map<string, { fetch: DatasetFetch; max_bytes: number }>();

  constructor(context: DatasetsContext) {
    this.#context = context;
    this.#bytes = new DatasetBytes(context.cache, context.http);
  }

  readonly calls: CallHandlers<MethodsOf<"datasets">, [session: DatasetSession]> = {
    "datasets.stage": (session, call) => this.#stage(session, call),
    "datasets.list": (session) => this.#list(session),
    "datasets.remove": (session, { id }) => this.#remove(session, id),
  };

  /** Null when the session has nothing staged; otherwise resolves once every staged file is there, or cannot be. */
  beforeExecution(session: DatasetSession): Promise<void> | null {
    const rows = this.#context.journal
      .of(session.row.id)
      .filter(({ status, file }) => status === "LOADED" || this.#returning(session, file));
    return rows.length === 0 ? null : this.#restage(session, rows);
  }

  async #restage(session: DatasetSession, rows: DatasetRow[]): Promise<void> {
    try {
      const there = await this.#entries(session, rows);
      for (const row of rows)
        if (!there.has(row.file)) await this.#once(session, row, AGAIN, () => this.#again(session, row));
    } catch (error) {
      // The execution itself will meet what is wrong with the sandbox.
      this.#context.log.warn({ err: error, session: session.row.id }, "could not look after the datasets");
    }
  }

  /** It had vanished, and an earlier execution waits for it too. */
  #returning(session: DatasetSession, file: string): boolean {
    return this.#staging.get(`${session.row.id}/${file}`)?.asked === AGAIN;
  }

  async #again(session: DatasetSession, row: DatasetRow): Promise<Dataset> {
    const { id: key } = session.row;
    this.#context.log.info({ session: key, file: row.file }, "a dataset has vanished; staging it again");
    const source = this.#sources.get(`${key}/${row.file}`);
    const { id, file, origin, sha256, version } = row;
    const call = { id, file, origin, sha256, version, refresh: true, wait: true };
    return this.#load(session, row, {
      ...call,
      max_bytes: source?.max_bytes ?? 0,
      ...(source && { fetch: source.fetch }),
    });
  }

  async #stage(session: DatasetSession, call: DatasetStageCall): Promise<DatasetStageAnswer> {
    const { journal } = this.#context;
    const { id } = session.row;
    // Bytes of which nothing is known are nobody else's.
    const own = call.refresh ? (call.grant ?? "refresh") : "";
    const asked = JSON.stringify([call.id, call.origin, call.version, call.sha256, own]);
    for (;;) {
      const running = this.#staging.get(`${id}/${call.file}`);
      if (!running) break;
      if (running.asked !== asked) {
        await running.done;
        continue;
      }
      return {
        dataset: call.wait ? await running.done : pending(journal.find(id, call.file)!),
        fresh: false,
      };
    }
    const had = journal.find(id, call.file);
    if (!had && journal.of(id).length >= PER_SESSION)
      throw new SandbarError("LIMIT_EXCEEDED", `a session may have ${PER_SESSION} datasets`);
    const same = had?.status === "LOADED" && !call.refresh && isSame(had, call);
    const known =
      call.fetch || call.grant || same || (await this.#bytes.has(session.row.tenant, call.sha256));
    if (!known) return { dataset: null, fresh: false };
    // Nothing was awaited since the look at what is running, unless only the cache was asked.
    if (this.#staging.has(`${id}/${call.file}`)) return this.#stage(session, call);
    let fresh = true;
    const done = this.#once(session, { file: call.file }, asked, async () => {
      fresh = !(same && (await this.#entries(session, [had])).has(call.file));
      return fresh ? this.#load(session, had, call) : described(had!);
    });
    if (!call.wait && !same) return { dataset: pending(journal.find(id, call.file) ?? row(id, call)), fresh };
    return { dataset: await done, fresh };
  }

  /** One at a time for each file. */
  #once(
    session: DatasetSession,
    { file }: { file: string },
    asked: string,
    work: () => Promise<Dataset>,
  ): Promise<Dataset> {
    const key = `${session.row.id}/${file}`;
    const running = this.#staging.get(key);
    if (running) return running.done;
    const done = work().finally(() => this.#staging.delete(key));
    done.catch(() => {});
    this.#staging.set(key, { asked, done, unwanted: false });
    return done;
  }

  async #load(
    session: DatasetSession,
    had: DatasetRow | undefined,
    call: DatasetStageCall,
  ): Promise<Dataset> {
    const { journal, cache, log } = this.#context;
    const wanted = row(session.row.id, call);
    const key = `${session.row.id}/${call.file}`;
    const before = had && { size: had.size, sha256: had.sha256, mtime_ns: had.mtime_ns };
    journal.begin({ ...wanted, ...before }, had);
    let bytes: Cached | null = null;
    try {
      const path = `${DATASET_FOLDER}/${call.file}`;
      bytes = await this.#bring(session, call, path).catch((error) => {
        // It is out of the cache, so now it comes from where it came before.
        if (error instanceof DamagedError && call.fetch) return this.#bring(session, call, path);
        throw error;
      });
      const { size, sha256 } = bytes;
      const { mtime_ns } = await session.call("fs.stat", { path });
      const loaded: DatasetRow = { ...wanted, status: "LOADED", size, sha256, mtime_ns };
      journal.save(loaded);
      if (call.fetch) this.#sources.set(key, { fetch: call.fetch, max_bytes: call.max_bytes });
      return described(loaded);
    } catch (error) {
      const { code, detail } =
        error instanceof SandbarError
          ? error.failure
          : { code: "DATASET_FAILED" as const, detail: (error as Error).message };
      log.info({ err: error, session: session.row.id, dataset: call.id }, "a dataset could not be staged");
      const failed: DatasetRow = { ...wanted, sha256: null, status: "FAILED", error: { code, detail } };
      // Bytes that were there before are there still, and are what they were, unless they had vanished.
      const kept =
        had?.status === "LOADED" && (await this.#entries(session, [had]).catch(() => null))?.has(had.file);
      journal.save(kept ? { ...had, error: { code, detail } } : failed);
      return described(failed);
    } finally {
      bytes?.release();
      await cache.trim();
      this.#forget();
    }
  }

  /** Into the sandbox. The caller releases the bytes. */
  async #bring(session: DatasetSession, call: DatasetStageCall, path: string): Promise<Cached> {
    const { tenant, id } = session.row;
    const ended = () => {
      if (session.terminal) return new SandbarError("SESSION_ENDED");
      if (!this.#staging.get(`${id}/${call.file}`)?.unwanted) return null;
      return new SandbarError("DATASET_FAILED", "it was taken out meanwhile");
    };
    const bytes = await this.#bytes.get({ tenant, ended }, call);
    try {
      const { size } = bytes;
      const written = await writeToGuest(session, { path, size, mkdirs: true }, bytes.open());
      if (written.sha256 !== bytes.sha256)
        throw new SandbarError("TRANSFER_FAILED", "the copy differs from what was fetched");
      return bytes;
    } catch (error) {
      bytes.release();
      throw error;
    }
  }

  async #list(session: DatasetSession): Promise<{ data: Dataset[] }> {
    const rows = this.#context.journal.of(session.row.id);
    const there = await this.#entries(
      session,
      rows.filter(({ status }) => status === "LOADED"),
    );
    return {
      data: rows.map((row) => {
        const entry = row.status === "LOADED" ? there.get(row.file) : undefined;
        if (!entry || (entry.mtime_ns === row.mtime_ns && entry.size === row.size)) return described(row);
        return { ...described(row), size: entry.size, mtime: isoTime(entry.mtime_ns), modified: true };
      }),
    };
  }

  async #remove(session: DatasetSession, id: string): Promise<{ removed: boolean }> {
    const { journal } = this.#context;
    const found = journal.of(session.row.id).find((row) => row.id === id);
    if (!found) return { removed: false };
    const staging = this.#staging.get(`${session.row.id}/${found.file}`);
    if (staging) {
      staging.unwanted = true;
      await staging.done.catch(() => {});
    }
    await session.call("fs.remove", { path: `${DATASET_FOLDER}/${found.file}` }).catch((error) => {
      // The second: the folder itself is something else by now.
      if (!(error instanceof SandbarError && ["NOT_FOUND", "PATH_INVALID"].includes(error.code))) throw error;
    });
    journal.remove(found);
    this.#sources.delete(`${session.row.id}/${found.file}`);
    return { removed: true };
  }

  /** What ended sessions have left. */
  #forget(): void {
    const { journal } = this.#context;
    journal.prune();
    for (const key of this.#sources.keys()) {
      const slash = key.indexOf("/");
      if (!journal.find(key.slice(0, slash), key.slice(slash + 1))) this.#sources.delete(key);
    }
  }

  /** Those of the rows' files that the sandbox has. One question, unless the folder is crowded. */
  async #entries(session: DatasetSession, rows: readonly DatasetRow[]): Promise<Map<string, GuestEntry>> {
    const found = new Map<string, GuestEntry>();
    if (rows.length === 0) return found;
    const page = await session
      .call("fs.list", { path: DATASET_FOLDER, depth: 1, limit: 1000 })
      .catch(ifMissing({ entries: [], next_cursor: null }));
    for (const entry of page.entries) found.set(entry.name, entry);
    if (page.next_cursor === null) return found;
    for (const { file } of rows) {
      if (found.has(file)) continue;
      const entry = await session
        .call("fs.stat", { path: `${DATASET_FOLDER}/${file}` })
        .catch(ifMissing(null));
      if (entry) found.set(file, entry);
    }
    return found;
  }
}

function ifMissing<T>(fallback: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof SandbarError && ["NOT_FOUND", "NOT_A_FOLDER"].includes(error.code)) return fallback;
    throw error;
  };
}

function row(session: string, { id, file, origin, sha256, version }: DatasetStageCall): DatasetRow {
  return {
    session,
    file,
    id,
    status: "PENDING",
    origin,
    size: null,
    sha256,
    version,
    mtime_ns: null,
    error: null,
  };
}

function pending(row: DatasetRow): Dataset {
  return { ...described(row), status: "PENDING" };
}

/** A hash says what the bytes are, wherever they come from; a version, or the lack of one, says so only of one origin. */
function isSame(had: DatasetRow, call: DatasetStageCall): boolean {
  if (had.id !== call.id) return false;
  if (call.sha256)
    return had.sha256 === call.sha256 && (call.version === null || call.version === had.version);
  return had.origin === call.origin && had.version === call.version;
}
