/** @module Datasets of a session: staged on demand, listed, exported when changed. */
import type { Artifact } from "@sandbar/shared";
import { sha256 } from "./artifacts.ts";
import type { Http } from "./http.ts";

export interface Dataset {
  id: string;
  status: "PENDING" | "LOADED" | "FAILED";
  path: string;
  size: number | null;
  sha256: string | null;
  version: string | null;
  mtime: string | null;
  /** The session's code has changed the file since. */
  modified?: boolean;
  error?: { code: string; detail: string } | string | null;
}

export interface DatasetList {
  access: "NONE" | "LOCAL_RO" | "API";
  data: Dataset[];
  /** Why there are none, or not all. */
  message?: string;
}

export type DatasetBytes = Uint8Array | ArrayBuffer | Blob | string;

export interface DescribedBytes {
  bytes: DatasetBytes;
  sha256?: string;
  version?: string;
}

export type FetchedDataset = DatasetBytes | DescribedBytes;

/** Fetches a dataset's bytes from wherever the caller keeps them. */
export type FetchDataset = (
  id: string,
  options: { signal?: AbortSignal },
) => FetchedDataset | Promise<FetchedDataset>;

/** What the server can fetch by itself. */
export type DatasetOrigin = { source: string } | { artifact_id: string };

export interface SelectOptions {
  /** When the session already has this version loaded, nothing is fetched. */
  version?: string;
  /** The same, by content. */
  sha256?: string;
  signal?: AbortSignal;
}

export class Datasets {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, sessionId: string) {
    this.#http = http;
    this.#path = `/v1/sessions/${sessionId}/datasets`;
  }

  list(): Promise<DatasetList> {
    return this.#http.json("GET", this.#path);
  }

  /** Stages a dataset below `/session/data`; its `path` says where. Selecting it again replaces older bytes by newer ones. */
  async select(
    id: string,
    from: FetchDataset | DatasetOrigin,
    options: SelectOptions = {},
  ): Promise<Dataset> {
    const { version, signal } = options;
    if (version !== undefined || options.sha256 !== undefined) {
      const loaded = (await this.list()).data.find((dataset) => dataset.id === id);
      if (loaded?.status === "LOADED" && isSame(loaded, options)) return loaded;
    }
    if (typeof from !== "function")
      return this.#http.json("POST", this.#path, {
        json: { id, ...from, version, sha256: options.sha256 },
        safe: true,
        signal,
      });
    const fetched = await from(id, { signal });
    const given = hasBytes(fetched) ? fetched : { bytes: fetched };
    const bytes = await toBytes(id, given.bytes);
    return this.#http.json("PUT", `${this.#path}/${encodeURIComponent(id)}`, {
      body: bytes as Uint8Array<ArrayBuffer>,
      query: {
        // The server checks what arrived against it.
        sha256: given.sha256 ?? options.sha256 ?? (crypto.subtle ? await sha256(bytes) : undefined),
        version: given.version ?? version,
      },
      headers: { "content-type": "application/octet-stream" },
      signal,
    });
  }

  /** Takes it out of the session. */
  remove(id: string): Promise<void> {
    return this.#http.send("DELETE", `${this.#path}/${encodeURIComponent(id)}`);
  }

  /** Keeps the dataset as it is now as an artifact; the name carries a timestamp. */
  export(id: string): Promise<Artifact> {
    return this.#http.json("POST", `${this.#path}/${encodeURIComponent(id)}/export`);
  }
}

function hasBytes(fetched: FetchedDataset): fetched is DescribedBytes {
  return typeof fetched === "object" && fetched !== null && "bytes" in fetched && !(fetched instanceof Blob);
}

/** What a fetch function returns is not always what its type says: nothing must not become an empty dataset. */
async function toBytes(id: string, given: DatasetBytes): Promise<Uint8Array> {
  if (given instanceof Uint8Array) return given;
  if (given instanceof ArrayBuffer) return new Uint8Array(given);
  if (given instanceof Blob) return new Uint8Array(await given.arrayBuffer());
  if (typeof given === "string") return new TextEncoder().encode(given);
  throw new TypeError(`the fetch function answered no bytes for dataset ${JSON.stringify(id)}`);
}

function isSame(dataset: Dataset, wanted: SelectOptions): boolean {
  return wanted.sha256 !== undefined ? dataset.sha256 === wanted.sha256 : dataset.version === wanted.version;
}
