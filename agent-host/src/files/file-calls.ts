/**
 * The control plane's questions about files. Bulk bytes go beside the link: the daemon pushes or pulls them by HTTP
 * under the grant that the question names.
 *
 * @module
 */
import { type Readable, Transform } from "node:stream";
import {
  type FileChange,
  FileChangeSchema,
  type FileEntry,
  FileEntrySchema,
  type OpenedFile,
  SandbarError,
  type WrittenFile,
} from "@sandbar/shared";
import { z } from "zod";
import type { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import { readAnswer } from "../guest/guest-calls.ts";
import {
  type GuestFiles,
  openInGuest,
  type ReadParams,
  tarFromGuest,
  untarToGuest,
  type WriteParams,
  watchGuest,
  writeToGuest,
} from "../guest/guest-transfers.ts";
import type { Log } from "../host/log.ts";
import { LineReader } from "../io/line-reader.ts";
import { openHostPath } from "./host-paths.ts";

/** Only a write shows that a reader has gone, and the kernel has few watches to give. */
const KEEP_ALIVE_MS = 5_000;
const CHANGE_LINE_BYTES = 64 * 1024;

const GuestEntrySchema = FileEntrySchema.omit({ mtime: true, etag: true }).extend({
  mtime_ns: z.string().max(32),
});
const GuestPageSchema = z.object({
  entries: z.array(GuestEntrySchema).max(1000),
  next_cursor: z.string().nullable(),
});

type Params = Record<string, unknown>;
type Granted = { grant: string };

export class FileCalls {
  readonly #http: ControlPlaneHttp;
  readonly #importDirs: readonly string[];
  readonly #log: Log;

  constructor(http: ControlPlaneHttp, importDirs: readonly string[], log: Log) {
    this.#http = http;
    this.#importDirs = importDirs;
    this.#log = log;
  }

  /** Undefined when the method is none of ours. */
  handle(session: GuestFiles, method: string, params: Params): Promise<unknown> | undefined {
    switch (method) {
      case "files.stat":
        return session.call("fs.stat", params).then(entry);
      case "files.list":
        return this.#list(session, params);
      case "files.mkdir":
        return session.call("fs.mkdir", params).then(entry);
      case "files.move":
        return session.call("fs.move", params).then(entry);
      case "files.remove":
        return session.call("fs.remove", params, Number.POSITIVE_INFINITY);
      case "files.read":
        return this.#read(session, params as ReadParams & Granted);
      case "files.write":
        return this.#write(session, params as WriteParams & Granted);
      case "files.untar":
        return this.#untar(session, params as WriteParams & Granted & { gzip?: boolean });
      case "files.watch":
        return this.#watch(session, params as { path: string; recursive?: boolean } & Granted);
      case "files.import":
        return this.#import(session, params as WriteParams & { source: string });
      default:
        return undefined;
    }
  }

  async #list(session: GuestFiles, params: Params): Promise<unknown> {
    const page = readAnswer(GuestPageSchema, await session.call("fs.list", params));
    return { entries: page.entries.map(entry), next_cursor: page.next_cursor };
  }

  async #read(
    session: GuestFiles,
    { grant, known, ...params }: ReadParams & Granted & { known?: string },
  ): Promise<OpenedFile> {
    const { info, stream } = await openInGuest(session, params);
    const etag = etagOf(info.mtime_ns, info.size);
    const opened: OpenedFile = {
      type: info.directory ? "directory" : "file",
      size: info.size,
      offset: info.offset,
      length: info.length,
      mtime: isoTime(info.mtime_ns),
      etag,
      unsatisfiable: info.unsatisfiable,
      not_modified: stream !== null && known === etag,
    };
    if (opened.not_modified) stream?.destroy();
    else if (!stream) this.#push(grant, await tarFromGuest(session, params), null);
    else if (!info.unsatisfiable) this.#push(grant, stream, info.length);
    return opened;
  }

  async #write(session: GuestFiles, { grant, ...params }: WriteParams & Granted): Promise<WrittenFile> {
    return writeToGuest(session, params, await this.#http.pull(grant));
  }

  async #untar(
    session: GuestFiles,
    { grant, ...params }: WriteParams & Granted & { gzip?: boolean },
  ): Promise<WrittenFile> {
    return untarToGuest(session, params, await this.#http.pull(grant));
  }

  async #import(
    session: GuestFiles,
    { source, ...params }: WriteParams & { source: string },
  ): Promise<WrittenFile> {
    const opened = await openHostPath(this.#importDirs, source);
    if (opened.type === "directory") return untarToGuest(session, params, opened.stream);
    return writeToGuest(session, { ...params, size: opened.size }, opened.stream);
  }

  async #watch(
    session: GuestFiles,
    { grant, ...params }: { path: string; recursive?: boolean } & Granted,
  ): Promise<null> {
    const changes = await watchGuest(session, params);
    const events = new ChangeEvents();
    changes.on("error", () => {}).on("close", () => events.end());
    events.on("close", () => changes.destroy());
    changes.pipe(events);
    this.#push(grant, events, null);
    return null;
  }

  /** The answer to the call need not wait for the bytes; whoever reads them notices a cut by itself. */
  #push(grant: string, stream: Readable, length: number | null): void {
    this.#http.push(grant, stream, length).catch((error) => {
      stream.destroy();
      this.#log.debug({ err: error }, "a transfer was cut");
    });
  }
}

/** A guest's lines of changes, checked, as server-sent events. */
class ChangeEvents extends Transform {
  readonly #lines = new LineReader(CHANGE_LINE_BYTES);
  readonly #keepAlive = setInterval(() => this.push(": keep-alive\n\n"), KEEP_ALIVE_MS);
  #id = 0;

  constructor() {
    super();
    this.push("retry: 1000\n\n");
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    try {
      for (const line of this.#lines.push(chunk)) {
        const change: FileChange = FileChangeSchema.parse(JSON.parse(line));
        this.push(`id: ${++this.#id}\nevent: ${change.type}\ndata: ${JSON.stringify(change)}\n\n`);
      }
      done();
    } catch {
      done(new SandbarError("HOST_ERROR", "the sandbox's account of changes cannot be read"));
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#keepAlive);
    done(error);
  }

  override _flush(done: () => void): void {
    clearInterval(this.#keepAlive);
    done();
  }
}

function entry(answer: unknown): FileEntry {
  const { mtime_ns, ...rest } = readAnswer(GuestEntrySchema, answer);
  return { ...rest, mtime: isoTime(mtime_ns), etag: etagOf(mtime_ns, rest.size) };
}

function etagOf(nanoseconds: string, size: number): string {
  return `${BigInt(nanoseconds).toString(16)}-${size.toString(16)}`;
}

function isoTime(nanoseconds: string): string {
  const time = new Date(Number(BigInt(nanoseconds) / 1_000_000n));
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString();
}
