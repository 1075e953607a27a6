/** @module Files and folders of a session as artifacts, when the control plane asks; the originals stay. */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  type Artifact,
  type CallHandlers,
  type ExportFile,
  type ExportResult,
  type MethodsOf,
  mediaTypeOf,
  SandbarError,
  SMALL_BLOB_BYTES,
} from "@sandbar/shared";
import { type SignedRequests, Unreachable } from "../control-plane/signed-requests.ts";
import { openInGuest, pieceFromGuest, tarFromGuest } from "../guest/guest-transfers.ts";
import type { Log } from "../host/log.ts";
import type { IngestSession } from "./artifact-ingest.ts";
import { ASKED_FIRST_BYTES, pushFiles, refusalOf } from "./artifact-push.ts";
import type { PushFile, PushTarget } from "./push-file.ts";

/** The same content under the same name is one artifact, however often it is exported. */
const VERSION = "export";

export class ArtifactExport {
  readonly #plane: SignedRequests;
  readonly #spool: string;
  readonly #log: Log;

  constructor(plane: SignedRequests, home: string, log: Log) {
    this.#plane = plane;
    this.#spool = path.join(home, "spool");
    this.#log = log;
  }

  /** What an earlier daemon did not finish. */
  async clear(): Promise<void> {
    await rm(this.#spool, { recursive: true, force: true });
  }

  readonly calls: CallHandlers<MethodsOf<"artifacts">, [session: IngestSession]> = {
    "artifacts.export": async (session, { files }) => {
      const data: ExportResult[] = [];
      for (const file of files) data.push(await this.#one(session, file));
      return { data };
    },
  };

  async #one(session: IngestSession, file: ExportFile): Promise<ExportResult> {
    const { source } = file;
    try {
      return { source, ok: true, artifact: await this.#export(session, file) };
    } catch (error) {
      const { code, detail } =
        error instanceof SandbarError
          ? error.failure
          : { code: error instanceof Unreachable ? "HOST_UNREACHABLE" : "HOST_ERROR", detail: String(error) };
      this.#log.info({ err: error, session: session.row.id }, "a file could not be exported");
      return { source, ok: false, error: { code, detail } };
    }
  }

  async #export(session: IngestSession, { source, name }: ExportFile): Promise<Artifact> {
    const { info, stream } = await openInGuest(session, { path: source, follow: true });
    const base = path.posix.basename(path.posix.resolve("/session", source)) || "session";
    if (!stream) return this.#exportFolder(session, source, name ?? `${base}.tar`);
    await this.#admit(session, name ?? base, info.length).catch((error) => {
      stream.destroy();
      throw error;
    });
    const small = info.length <= SMALL_BLOB_BYTES;
    const { sha256, held } = await digest(stream, small);
    const again = (offset: number, length: number) =>
      pieceFromGuest(session, { path: source, follow: true, offset, length });
    const content = small ? held : again;
    return this.#push(session, { name: name ?? base, size: info.length, sha256, content }).catch((error) => {
      // The second reading had another hash, which is all that the control plane can say.
      if (error instanceof SandbarError && error.code === "VALIDATION_FAILED")
        throw new SandbarError("TRANSFER_FAILED", "the file changed while it was read");
      throw error;
    });
  }

  /** An archive's length and hash are known only at its end, so it is written down first. */
  async #exportFolder(session: IngestSession, source: string, name: string): Promise<Artifact> {
    await mkdir(this.#spool, { recursive: true, mode: 0o700 });
    const file = path.join(this.#spool, randomUUID());
    try {
      const hash = createHash("sha256");
      let written = 0;
      let admitted = ASKED_FIRST_BYTES;
      const through = new Transform({
        transform: (chunk: Buffer, _encoding, done) => {
          hash.update(chunk);
          written += chunk.length;
          if (written <= admitted) return done(null, chunk);
          admitted *= 2;
          this.#admit(session, name, written).then(() => done(null, chunk), done);
        },
      });
      const tar = await tarFromGuest(session, { path: source, follow: true });
      await pipeline(tar, through, createWriteStream(file, { mode: 0o600 }));
      const { size } = await stat(file);
      const content = async (offset: number, length: number) =>
        createReadStream(file, { start: offset, end: offset + length - 1 });
      return await this.#push(session, { name, size, sha256: hash.digest("hex"), content });
    } finally {
      await rm(file, { force: true });
    }
  }

  /** As large as it is, or as it is by now. */
  async #admit(session: IngestSession, name: string, size: number): Promise<void> {
    const file = { name, size, mime: mediaTypeOf(name), version: VERSION };
    const refusal = await refusalOf(this.#plane, targetOf(session), file, new AbortController().signal);
    if (refusal) throw new SandbarError("QUOTA_EXCEEDED", refusal.reason);
  }

  async #push(session: IngestSession, file: Omit<PushFile, "mime" | "version">): Promise<Artifact> {
    const wanted: PushFile = { ...file, mime: mediaTypeOf(file.name), version: VERSION };
    const { recorded, refused } = await pushFiles(
      this.#plane,
      targetOf(session),
      [wanted],
      new AbortController().signal,
    );
    const artifact = recorded.get(wanted);
    if (!artifact) throw new SandbarError("QUOTA_EXCEEDED", refused.get(wanted)?.reason);
    return artifact;
  }
}

const targetOf = ({ row: { id, tenant } }: IngestSession): PushTarget => ({
  tenant,
  session: id,
  execution: null,
  taken: 0,
});

async function digest(stream: Readable, hold: boolean): Promise<{ sha256: string; held: Buffer[] }> {
  const hash = createHash("sha256");
  const held: Buffer[] = [];
  for await (const chunk of stream) {
    hash.update(chunk as Buffer);
    if (hold) held.push(chunk as Buffer);
  }
  return { sha256: hash.digest("hex"), held };
}
