/** @module Files of a session. Relative paths start at /session. */
import type { FileChange, FileEntry, ImportResult, WrittenFile } from "@sandbar/shared";
import { SandbarError } from "./errors.ts";
import type { Body, Http } from "./http.ts";
import { Listing } from "./listing.ts";
import { serverEvents } from "./sse.ts";
import type { UploadProgress } from "./upload.ts";

export type { FileChange, FileEntry, ImportResult, UploadProgress, WrittenFile };

/** One of the four ways to bring a file in: content, another session's path, an artifact, an allowed host path. */
export type ImportFile = { destination: string } & (
  | { content: string; encoding?: "utf8" | "base64" }
  | { session_id: string; path: string }
  | { artifact_id: string }
  | { source: string }
);

export type FileContent = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** A path; or its bytes in base64 (`path_b64` of an entry), when they are not UTF-8. */
export type FilePath = string | { b64: string };

export interface OpenedFile {
  /** A folder comes as a tar archive. */
  type: "file" | "directory";
  size: number | null;
  body: ReadableStream<Uint8Array>;
}

interface Abortable {
  signal?: AbortSignal;
}

interface Ranged {
  /** The first byte that is wanted. */
  start?: number;
  /** The first byte that is not wanted any more. */
  end?: number;
}

export class Files {
  readonly #http: Http;
  readonly #path: string;
  readonly #session: string;

  constructor(http: Http, sessionId: string) {
    this.#http = http;
    this.#session = `/v1/sessions/${sessionId}`;
    this.#path = `${this.#session}/files`;
  }

  /** All of a file, or the bytes from `start` up to `end`. */
  read(path: FilePath, options: Abortable & Ranged = {}): Promise<Uint8Array> {
    const headers = rangeHeader(options);
    return this.#http.bytes("GET", this.#path, { query: at(path), headers, signal: options.signal });
  }

  /** Where the bytes are, for a link or an image; a request needs the API key or the console's cookie. */
  url(path: FilePath): string {
    return this.#http.resolve(this.#path, at(path));
  }

  async readText(path: FilePath, options: Abortable = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** The bytes as they come, from `start` up to `end`. */
  async open(path: FilePath, options: Abortable & Ranged = {}): Promise<OpenedFile> {
    const response = await this.#get(path, options);
    // A folder's archive is made while it is sent, so only files have a length.
    const length = response.headers.get("content-length");
    const archive = response.headers.get("content-type")?.startsWith("application/x-tar") ?? false;
    return {
      type: archive && length === null ? "directory" : "file",
      size: length === null ? null : Number(length),
      body: response.body ?? new Blob([]).stream(),
    };
  }

  async download(path: FilePath, options: Abortable = {}): Promise<ReadableStream<Uint8Array>> {
    return (await this.open(path, options)).body;
  }

  /**
   * Creates or replaces a file, and the folders above it; it appears whole or not at all. A stream is not retried. With
   * `ifMatch`, the etag that `stat` or an earlier `write` told, it fails with `ETAG_MISMATCH` when the file has changed.
   */
  write(
    path: string,
    content: FileContent,
    options: Abortable & {
      mode?: string;
      mkdirs?: boolean;
      ifMatch?: string;
      onProgress?: UploadProgress;
    } = {},
  ): Promise<WrittenFile> {
    const { mode, mkdirs, ifMatch } = options;
    const headers: Record<string, string> =
      ifMatch === undefined ? {} : { "if-match": ifMatch === "*" ? "*" : `"${ifMatch}"` };
    return this.#put({ path, mode, mkdirs }, content, "application/octet-stream", { ...options, headers });
  }

  upload(path: string, content: FileContent, options: Abortable = {}): Promise<WrittenFile> {
    return this.write(path, content, options);
  }

  /** Unpacks a tar archive below a path: all of it, or nothing. */
  extract(
    path: string,
    archive: FileContent,
    options: Abortable & { gzip?: boolean; onProgress?: UploadProgress } = {},
  ): Promise<WrittenFile> {
    const type = options.gzip ? "application/gzip" : "application/x-tar";
    return this.#put({ path, extract: true }, archive, type, options);
  }

  list(path: FilePath = ".", options: { depth?: number } = {}): Promise<FileEntry[]> {
    const query = { ...at(path), depth: options.depth };
    return new Listing<FileEntry>(this.#http, `${this.#path}/list`, query).all();
  }

  /** What is at a path, without following a symlink. */
  stat(path: FilePath): Promise<FileEntry> {
    return this.#http.json("GET", `${this.#path}/stat`, { query: at(path) });
  }

  async exists(path: FilePath): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (error) {
      if (error instanceof SandbarError && error.status === 404) return false;
      throw error;
    }
  }

  remove(path: FilePath, options: { recursive?: boolean } = {}): Promise<void> {
    return this.#http.send("DELETE", this.#path, { query: { ...at(path), recursive: options.recursive } });
  }

  /** Makes a folder and those above it. */
  mkdir(path: string): Promise<FileEntry> {
    return this.#http.json("POST", `${this.#path}/mkdir`, { json: { path }, safe: true });
  }

  move(from: string, to: string, options: { overwrite?: boolean } = {}): Promise<FileEntry> {
    return this.#http.json("POST", `${this.#path}/move`, { json: { from, to, ...options } });
  }

  /** Changes below a folder, from when `onReady` is called until the loop is left or the signal aborts. */
  async *watch(
    path = ".",
    options: Abortable & { recursive?: boolean; onReady?: () => void } = {},
  ): AsyncGenerator<FileChange> {
    const response = await this.#http.request("GET", `${this.#path}/watch`, {
      query: { path, recursive: options.recursive },
      headers: { accept: "text/event-stream" },
      signal: options.signal,
    });
    if (!response.body) return;
    options.onReady?.();
    try {
      for await (const { data } of serverEvents(response.body)) yield JSON.parse(data);
    } catch (error) {
      if (!options.signal?.aborted) throw error;
    }
  }

  /** One result per file, in order; a file that fails does not stop the others. */
  async import(files: ImportFile[]): Promise<ImportResult[]> {
    const answer = await this.#http.json<{ data: ImportResult[] }>("POST", `${this.#session}/import`, {
      json: { files },
      safe: true,
    });
    return answer.data;
  }

  #get(path: FilePath, options: Abortable & Ranged): Promise<Response> {
    const headers = rangeHeader(options);
    return this.#http.request("GET", this.#path, { query: at(path), headers, signal: options.signal });
  }

  #put(
    query: { path: string; mode?: string; mkdirs?: boolean; extract?: boolean },
    content: FileContent,
    type: string,
    options: Abortable & { headers?: Record<string, string>; onProgress?: UploadProgress },
  ): Promise<WrittenFile> {
    const { signal, onProgress } = options;
    const headers = { ...options.headers, "content-type": type };
    const body = content as Body;
    return this.#http.json("PUT", this.#path, { query, body, headers, signal, onProgress });
  }
}

const at = (path: FilePath) => (typeof path === "string" ? { path } : { path_b64: path.b64 });

function rangeHeader({ start = 0, end }: Ranged): Record<string, string> {
  if (end !== undefined) return { range: `bytes=${start}-${end - 1}` };
  return start > 0 ? { range: `bytes=${start}-` } : {};
}
