/** @module Artifacts: what sessions left behind, durable after the session is gone. */
import type { Artifact, ExportResult } from "@sandbar/shared";
import { SandbarError } from "./errors.ts";
import type { Http } from "./http.ts";
import { Listing } from "./listing.ts";

export type { Artifact, ExportResult };

export interface ArtifactLink {
  url: string;
  expires_at: string;
}

/** An artifact's id, or anything that has it: a descriptor of an execution, of a list. */
export type ArtifactRef = string | Pick<Artifact, "id">;

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

  get(artifact: ArtifactRef): Promise<Artifact> {
    return this.#http.json("GET", pathOf(artifact));
  }

  /** A URL that works without an API key, for a while. */
  async link(artifact: ArtifactRef, options: { expiresInS?: number } = {}): Promise<ArtifactLink> {
    const link = await this.#http.json<ArtifactLink>("POST", `${pathOf(artifact)}/link`, {
      json: options.expiresInS === undefined ? {} : { expires_in_s: options.expiresInS },
      safe: true,
    });
    return { ...link, url: this.#http.resolve(link.url) };
  }

  /** All bytes, checked against the artifact's SHA-256. */
  async read(artifact: ArtifactRef, options: { signal?: AbortSignal } = {}): Promise<Uint8Array> {
    const { name, sha256: expected } = await this.get(artifact);
    const { url } = await this.link(artifact);
    const bytes = await this.#http.linkBytes(url, options);
    // Browsers have subtle only on secure origins.
    if (crypto.subtle && (await sha256(bytes)) !== expected)
      throw new SandbarError({
        code: "CORRUPT_DOWNLOAD",
        detail: `${name} does not hash to ${expected}`,
        retryable: true,
      });
    return bytes;
  }

  async readText(artifact: ArtifactRef, options: { signal?: AbortSignal } = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(artifact, options));
  }

  /** The bytes as they come, from `start` on; for large artifacts and for going on after a cut. */
  async stream(
    artifact: ArtifactRef,
    { start, signal }: { start?: number; signal?: AbortSignal } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const { url } = await this.link(artifact);
    const headers: Record<string, string> = start ? { range: `bytes=${start}-` } : {};
    return (await this.#http.fetchLink(url, { signal, headers })).body ?? new Blob([]).stream();
  }

  /** The bytes from `start` up to, and without, `end`: for a look into large ones. */
  readRange(
    artifact: ArtifactRef,
    start: number,
    end: number,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<Uint8Array> {
    const headers = { range: `bytes=${start}-${end - 1}` };
    return this.#http.bytes("GET", `${pathOf(artifact)}/content`, { headers, signal });
  }

  delete(artifact: ArtifactRef): Promise<void> {
    return this.#http.send("DELETE", pathOf(artifact));
  }
}

function pathOf(artifact: ArtifactRef): string {
  return `/v1/artifacts/${encodeURIComponent(typeof artifact === "string" ? artifact : artifact.id)}`;
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
