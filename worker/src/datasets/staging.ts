/**
 * Brings a dataset to a session's host. What the host has already, by hash, is not sent again; from a source the host fetches
 * by itself, and only stored content and the caller's own bytes pass through here.
 *
 * @module
 */
import {
  type DatasetFetch,
  type DatasetStageAnswer,
  type DatasetStageCall,
  expandTemplate,
  SandbarError,
} from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { openArtifactBlob } from "../artifacts/artifact-source.ts";
import { maxBodyBytes } from "../artifacts/settings.ts";
import type { Caller } from "../auth.ts";
import { findArtifact } from "../db/artifacts.ts";
import { type SourceRow, sourcesFor } from "../db/dataset-sources.ts";
import { drain } from "../drain.ts";
import type { Env } from "../env.ts";
import { sessionObject } from "../rpc.ts";
import { unseal } from "../sealed.ts";
import { openTransfer } from "../transfer/transfers.ts";

/** A source may take an hour, and the copy into the sandbox a while. */
const STAGE_MS = 2 * 3600_000;
/** A fetch is use of the session for as long as it lasts. */
const TOUCH_MS = 20_000;
const DEFAULT_MAX_BYTES = 2 * 1024 ** 3;

type Wanted = Pick<DatasetStageCall, "id" | "file" | "sha256" | "version" | "refresh" | "wait">;

function datasetMaxBytes(env: Env): number {
  const given = Number(env.DATASET_MAX_BYTES);
  return env.DATASET_MAX_BYTES && Number.isFinite(given) && given > 0 ? given : DEFAULT_MAX_BYTES;
}

export class Staging {
  readonly #env: Env;
  readonly #tenant: string;
  readonly #key: string;
  readonly #session: string;

  constructor(env: Env, { tenant, credential }: Caller, session: string) {
    this.#env = env;
    this.#tenant = tenant;
    this.#key = credential;
    this.#session = session;
  }

  /** From a registered source; without a name, the only one there is. */
  async fromSource(wanted: Wanted, name: string | null): Promise<DatasetStageAnswer> {
    const source = await this.#source(name);
    if (source.url_template.includes("{version}") && wanted.version === null)
      throw new SandbarError("VALIDATION_FAILED", `The source ${source.name} needs a version`);
    const fetch: DatasetFetch = {
      url: expandTemplate(source.url_template, wanted),
      headers: (await unseal(this.#env, source.sealed_headers)) as Record<string, string>,
      redirect_origins: source.redirect_origins,
      allow_private: source.allow_private,
      timeout_s: source.timeout_s,
    };
    const max_bytes = Math.min(source.max_bytes ?? Number.MAX_SAFE_INTEGER, datasetMaxBytes(this.#env));
    return this.#ask({ ...wanted, origin: `source:${source.id}`, fetch, max_bytes });
  }

  async fromArtifact(wanted: Wanted, id: string): Promise<DatasetStageAnswer> {
    const found = await findArtifact(this.#env.DB, this.#tenant, id);
    if (!found) throw new SandbarError("NOT_FOUND", "No such artifact");
    if (wanted.sha256 !== null && wanted.sha256 !== found.sha256) {
      const message = `The artifact has the SHA-256 ${found.sha256}`;
      throw new SandbarError("VALIDATION_FAILED", message, { errors: [{ path: "sha256", message }] });
    }
    const call = { ...wanted, wait: true, origin: `artifact:${id}`, max_bytes: datasetMaxBytes(this.#env) };
    const known = await this.#ask({ ...call, sha256: found.sha256 });
    if (known.dataset) return known;
    const { artifact, stream } = await openArtifactBlob(this.#env, this.#tenant, id);
    return this.#give(call, stream, artifact.size);
  }

  /** The caller's own bytes. Without a hash or version nothing says that they are those of before. */
  async fromBody(
    wanted: Wanted,
    body: ReadableStream<Uint8Array> | null,
    size: number | null,
  ): Promise<DatasetStageAnswer> {
    const max_bytes = Math.min(maxBodyBytes(this.#env), datasetMaxBytes(this.#env));
    if (size !== null && size > max_bytes) {
      await drain(body);
      throw new SandbarError("PAYLOAD_TOO_LARGE", `A dataset may have ${max_bytes} bytes`);
    }
    const described = wanted.sha256 !== null || wanted.version !== null;
    const call = {
      ...wanted,
      refresh: wanted.refresh || !described,
      wait: true,
      origin: "caller",
      max_bytes,
    };
    if (described && !wanted.refresh) {
      const known = await this.#ask(call);
      if (known.dataset) {
        await drain(body);
        return known;
      }
    }
    return this.#give(call, body, size);
  }

  async #give(
    call: DatasetStageCall,
    body: ReadableStream<Uint8Array> | null,
    size: number | null,
  ): Promise<DatasetStageAnswer> {
    const { grant, fetch, cancel } = await openTransfer(this.#env, {
      giver: "client",
      taker: "agent",
      tenant: this.#tenant,
      key: this.#key,
      sessions: [this.#session],
      size,
      maxBytes: call.max_bytes,
    });
    const given = fetch({ method: "PUT", body })
      .then(({ status }) => status)
      .catch(() => 0);
    try {
      return await this.#ask({ ...call, grant });
    } finally {
      // The host may not have wanted the bytes after all.
      await cancel();
      if ((await given) === 413)
        // biome-ignore lint/correctness/noUnsafeFinally: the giver knows better why the bytes ended
        throw new SandbarError("PAYLOAD_TOO_LARGE", `A dataset may have ${call.max_bytes} bytes`);
    }
  }

  async #ask(call: DatasetStageCall): Promise<DatasetStageAnswer> {
    const session = sessionObject(this.#env, this.#tenant, this.#session);
    const touching = setInterval(() => void session.touch().catch(() => {}), TOUCH_MS);
    const answer = await session.ask("datasets.stage", call, STAGE_MS).finally(() => clearInterval(touching));
    return unwrap(answer);
  }

  async #source(name: string | null): Promise<SourceRow> {
    const [source, other] = await sourcesFor(this.#env.DB, this.#tenant, name, 2);
    if (source && !other) return source;
    if (name !== null) throw new SandbarError("SOURCE_NOT_ALLOWED", `No dataset source is named ${name}`);
    const detail = source
      ? "There are several dataset sources: name one"
      : "There is no dataset source: register one, give artifact_id, or PUT the bytes";
    throw new SandbarError("VALIDATION_FAILED", detail, { errors: [{ path: "source", message: detail }] });
  }
}
