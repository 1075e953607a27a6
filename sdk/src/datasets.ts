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
  error?: { code: string; detail: string } | string | null;
}

export interface DatasetList {
  access: "NONE" | "LOCAL_RO" | "API";
  data: Dataset[];
}

export type FetchedDataset =
  | Uint8Array
  | ArrayBuffer
  | { bytes: Uint8Array | ArrayBuffer; sha256?: string; version?: string };

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

  /** Stages a dataset at `/session/data/<id>.parquet`. Selecting it again replaces older bytes by newer ones. */
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
    const given: { bytes: Uint8Array | ArrayBuffer; sha256?: string; version?: string } =
      fetched instanceof Uint8Array || fetched instanceof ArrayBuffer ? { bytes: fetched } : fetched;
    const bytes = given.bytes instanceof Uint8Array ? given.bytes : new Uint8Array(given.bytes);
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

  /** Keeps the dataset as it is now as an artifact; the name carries a timestamp. */
  export(id: string): Promise<Artifact> {
    return this.#http.json("POST", `${this.#path}/${encodeURIComponent(id)}/export`);
  }
}

function isSame(dataset: Dataset, wanted: SelectOptions): boolean {
  return wanted.sha256 !== undefined ? dataset.sha256 === wanted.sha256 : dataset.version === wanted.version;
}
