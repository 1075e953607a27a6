/** @module A dataset's bytes: from this host's cache, from a source, or from the control plane under a grant. */
import { type DatasetStageCall, SandbarError } from "@sandbar/shared";
import type { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import { Turns } from "../io/turns.ts";
import type { Cached, DatasetCache } from "./dataset-cache.ts";
import { fetchDataset } from "./dataset-fetch.ts";

/** Fetches for one tenant: a slow source holds up nobody else. */
const AT_ONCE = 4;
/** Of bytes that come through the control plane, whose own limits are tighter. */
const GRANT_MS = 6 * 3600_000;
/** How soon a fetch ends for which nobody waits any more. */
const ENDED_MS = 2_000;

/** For whom they are. */
export interface Receiver {
  readonly tenant: string;
  /** Why nobody waits for them any more; null as long as somebody does. */
  ended(): SandbarError | null;
}

export class DatasetBytes {
  readonly #cache: DatasetCache;
  readonly #http: ControlPlaneHttp;
  readonly #turns = new Map<string, Turns>();

  constructor(cache: DatasetCache, http: ControlPlaneHttp) {
    this.#cache = cache;
    this.#http = http;
  }

  /** Whole and checked. The caller releases them. */
  async get(receiver: Receiver, call: DatasetStageCall): Promise<Cached> {
    const { tenant } = receiver;
    const cached = call.sha256 && (await this.#cache.find(tenant, call.sha256));
    if (cached) return cached;
    return call.fetch
      ? this.#turnsOf(tenant).take(() => this.#take(receiver, call))
      : this.#take(receiver, call);
  }

  async has(tenant: string, sha256: string | null): Promise<boolean> {
    const cached = sha256 && (await this.#cache.find(tenant, sha256));
    if (cached) cached.release();
    return Boolean(cached);
  }

  async #take(receiver: Receiver, { fetch, grant, sha256, max_bytes }: DatasetStageCall): Promise<Cached> {
    const timeout_s = fetch?.timeout_s ?? GRANT_MS / 1000;
    const timeout = AbortSignal.timeout(timeout_s * 1000);
    const ended = new AbortController();
    const watching = setInterval(() => {
      const reason = receiver.ended();
      if (reason) ended.abort(reason);
    }, ENDED_MS);
    const signal = AbortSignal.any([timeout, ended.signal]);
    try {
      const source = fetch
        ? await fetchDataset(fetch, max_bytes, signal)
        : grant && (await this.#http.pull(grant));
      if (source)
        return await this.#cache.add(receiver.tenant, source, {
          expected: sha256,
          maxBytes: max_bytes,
          signal,
        });
    } catch (error) {
      if (error instanceof SandbarError) throw error;
      if (ended.signal.aborted) throw ended.signal.reason;
      if (timeout.aborted)
        throw new SandbarError("DATASET_FAILED", `the source took longer than ${timeout_s} s`);
      throw new SandbarError("DATASET_FAILED", `the bytes were cut off: ${(error as Error).message}`);
    } finally {
      clearInterval(watching);
    }
    throw new SandbarError("DATASET_FAILED", "the host's cache does not have it any more; stage it again");
  }

  #turnsOf(tenant: string): Turns {
    const turns = this.#turns.get(tenant) ?? new Turns(AT_ONCE);
    this.#turns.set(tenant, turns);
    return turns;
  }
}
