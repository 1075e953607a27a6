/**
 * The control plane's questions about files. Bulk bytes go beside the link: the daemon pushes or pulls them by HTTP
 * under the grant that the question names.
 *
 * @module
 */
import { type Readable, Transform } from "node:stream";
import {
  type CallHandlers,
  type FileChange,
  FileChangeSchema,
  type FileEntry,
  type GuestAnswer,
  type GuestEntry,
  type HostParams,
  type MethodsOf,
  type OpenedFile,
  SandbarError,
  type WrittenFile,
} from "@sandbar/shared";
import type { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import {
  type GuestFiles,
  openInGuest,
  tarFromGuest,
  untarToGuest,
  watchGuest,
  writeToGuest,
} from "../guest/guest-transfers.ts";
import type { Log } from "../host/log.ts";
import { isoTime } from "../io/iso-time.ts";
import { LineReader } from "../io/line-reader.ts";
import { narrowed, openHostPath } from "./host-paths.ts";

/** Only a write shows that a reader has gone, and the kernel has few watches to give. */
const KEEP_ALIVE_MS = 5_000;
const CHANGE_LINE_BYTES = 64 * 1024;

export class FileCalls {
  readonly #http: ControlPlaneHttp;
  readonly #importDirs: readonly string[];
  readonly #log: Log;

  constructor(http: ControlPlaneHttp, importDirs: readonly string[], log: Log) {
    this.#http = http;
    this.#importDirs = importDirs;
    this.#log = log;
  }

  readonly calls: CallHandlers<MethodsOf<"files">, [session: GuestFiles]> = {
    "files.stat": async (session, params) => entry(await session.call("fs.stat", params)),
    "files.list": async (session, params) => {
      const { entries, next_cursor } = await session.call("fs.list", params);
      return { entries: entries.map(entry), next_cursor };
    },
    "files.mkdir": async (session, params) => entry(await session.call("fs.mkdir", params)),
    "files.move": async (session, params) => entry(await session.call("fs.move", params)),
    "files.remove": (session, params) => session.call("fs.remove", params, Number.POSITIVE_INFINITY),
    "files.read": (session, params) => this.#read(session, params),
    "files.write": async (session, { grant, if_match, ...params }) => {
      const expected = if_match === undefined ? {} : { if_match: expectedBy(if_match) };
      return written(await writeToGuest(session, { ...params, ...expected }, await this.#http.pull(grant)));
    },
    "files.untar": async (session, { grant, ...params }) =>
      untarToGuest(session, params, await this.#http.pull(grant)),
    "files.watch": (session, params) => this.#watch(session, params),
    "files.import": (session, params) => this.#import(session, params),
  };

  async #read(
    session: GuestFiles,
    { grant, known, ...params }: HostParams<"files.read">,
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

  async #import(
    session: GuestFiles,
    { source, below, ...params }: HostParams<"files.import">,
  ): Promise<WrittenFile> {
    const opened = await openHostPath(below ? narrowed(this.#importDirs, below) : this.#importDirs, source);
    if (opened.type === "directory") return untarToGuest(session, params, opened.stream);
    return written(await writeToGuest(session, { ...params, size: opened.size }, opened.stream));
  }

  async #watch(session: GuestFiles, { grant, ...params }: HostParams<"files.watch">): Promise<void> {
    const changes = await watchGuest(session, params);
    const events = new ChangeEvents();
    changes.on("error", () => {}).on("close", () => events.end());
    events.on("close", () => changes.destroy());
    changes.pipe(events);
    this.#push(grant, events, null);
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

function entry({ mtime_ns, ...rest }: GuestEntry): FileEntry {
  return { ...rest, mtime: isoTime(mtime_ns), etag: etagOf(mtime_ns, rest.size) };
}

function written({ mtime_ns, ...rest }: GuestAnswer<"fs.write">): WrittenFile {
  return mtime_ns === undefined ? rest : { ...rest, etag: etagOf(mtime_ns, rest.size) };
}

/** What `etagOf` has made; no file has what it has not. */
function expectedBy(etag: string): [mtime_ns: string, size: number] | true {
  if (etag === "*") return true;
  const [, sign, time, size] = /^(-?)([0-9a-f]{1,26})-([0-9a-f]{1,14})$/.exec(etag) ?? [];
  if (time === undefined || size === undefined) return ["", -1];
  return [`${sign}${BigInt(`0x${time}`)}`, Number.parseInt(size, 16)];
}

function etagOf(nanoseconds: string, size: number): string {
  return `${BigInt(nanoseconds).toString(16)}-${size.toString(16)}`;
}
