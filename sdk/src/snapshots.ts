/** @module Snapshots: what sessions were, kept outside of them, for others to begin with. */
import type { Snapshot } from "@sandbar/shared";
import type { Http } from "./http.ts";
import { Listing } from "./listing.ts";

export type { Snapshot };

/** A snapshot's id, or anything that has it. */
export type SnapshotRef = string | Pick<Snapshot, "id">;

export interface SnapshotFilter {
  session_id?: string;
  name?: string;
}

export class Snapshots {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Newest first. */
  list(filter: SnapshotFilter = {}): Listing<Snapshot> {
    return new Listing(this.#http, "/v1/snapshots", { ...filter });
  }

  get(snapshot: SnapshotRef): Promise<Snapshot> {
    return this.#http.json("GET", pathOf(snapshot));
  }

  /** All of it as one file, as it comes: docs/snapshots.md has the format. */
  async download(
    snapshot: SnapshotRef,
    options: { signal?: AbortSignal } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#http.request("GET", `${pathOf(snapshot)}/content`, options);
    return response.body ?? new Blob([]).stream();
  }

  delete(snapshot: SnapshotRef): Promise<void> {
    return this.#http.send("DELETE", pathOf(snapshot));
  }
}

function pathOf(snapshot: SnapshotRef): string {
  return `/v1/snapshots/${encodeURIComponent(typeof snapshot === "string" ? snapshot : snapshot.id)}`;
}
