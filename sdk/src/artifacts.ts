/** @module Artifacts: what sessions left behind, durable after the session is gone. */
import type { Artifact, ExportResult } from "@sandbar/shared";
import { networkError, SandbarError } from "./errors.ts";
import type { Http } from "./http.ts";
import { Listing } from "./listing.ts";

export type { Artifact, ExportResult };

export interface ArtifactLink {
  url: string;
  expires_at: string;
}

export class Artifacts {
  readonly #http: Http;
  readonly #sessionId: string | null;

  constructor(http: Http, sessionId: string | null = null) {
    this.#http = http;
    this.#sessionId = sessionId;
  }

  /** Those of the session, or all of the tenant. */
  list(): Listing<Artifact> {
    return new Listing(
      this.#http,
      this.#sessionId ? `/v1/sessions/${this.#sessionId}/artifacts` : "/v1/artifacts",
    );
  }

  get(id: string): Promise<Artifact> {
    return this.#http.json("GET", `/v1/artifacts/${id}`);
  }

  /** A URL that works without an API key, for a while. */
  async link(id: string, options: { expiresInS?: number } = {}): Promise<ArtifactLink> {
    const link = await this.#http.json<ArtifactLink>("POST", `/v1/artifacts/${id}/link`, {
      json: options.expiresInS === undefined ? {} : { expires_in_s: options.expiresInS },
      safe: true,
    });
    return { ...link, url: this.#http.resolve(link.url) };
  }

  /** All bytes, checked against the artifact's SHA-256. */
  async read(id: string, options: { signal?: AbortSignal } = {}): Promise<Uint8Array> {
    const artifact = await this.get(id);
    const response = await this.#fetch(id, options);
    const bytes = new Uint8Array(
      await response.arrayBuffer().catch((error) => {
        throw networkError(error, "the download was cut off");
      }),
    );
    // Browsers have subtle only on secure origins.
    if (crypto.subtle && (await sha256(bytes)) !== artifact.sha256)
      throw new SandbarError({
        code: "CORRUPT_DOWNLOAD",
        detail: `${artifact.name} does not hash to ${artifact.sha256}`,
        retryable: true,
      });
    return bytes;
  }

  async readText(id: string, options: { signal?: AbortSignal } = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(id, options));
  }

  /** The bytes as they come, from `start` on; for large artifacts and for going on after a cut. */
  async stream(
    id: string,
    options: { start?: number; signal?: AbortSignal } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#fetch(id, options);
    return response.body ?? new Blob([]).stream();
  }

  delete(id: string): Promise<void> {
    return this.#http.send("DELETE", `/v1/artifacts/${id}`);
  }

  async #fetch(id: string, { start, signal }: { start?: number; signal?: AbortSignal }): Promise<Response> {
    const { url } = await this.link(id);
    return this.#http.fetchLink(url, { signal, headers: start ? { range: `bytes=${start}-` } : {} });
  }
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
