/** @module Snapshots of running sessions, when the control plane asks: states and files go there in chunks, and a manifest at the end. */
import { createHash } from "node:crypto";
import {
  type CallHandlers,
  type HostParams,
  MANIFEST_LIMIT_BYTES,
  type Manifest,
  type MethodsOf,
  SandbarError,
  SNAPSHOT_FORMAT,
  type SnapshotVariable,
  USUAL_ENGINE,
} from "@sandbar/shared";
import { Patience } from "../control-plane/patience.ts";
import { type SignedRequests, Unreachable } from "../control-plane/signed-requests.ts";
import { stateFromGuest } from "../guest/guest-states.ts";
import { type GuestFiles, tarFromGuest } from "../guest/guest-transfers.ts";
import type { Log } from "../host/log.ts";
import type { SessionRow } from "../journal/journal.ts";
import { ChunkUpload } from "./chunk-upload.ts";

/** How long a control plane that does not answer is asked again. */
const PATIENCE_MS = 120_000;

export interface SnapshotSession extends GuestFiles {
  readonly row: SessionRow;
}

export interface SnapshotParts {
  readonly plane: SignedRequests;
  readonly linked: () => boolean;
  readonly log: Log;
}

type Take = HostParams<"snapshots.take">;
type SavedContext = Manifest["contexts"][number];

export class SnapshotCalls {
  readonly #parts: SnapshotParts;
  /** By session: one at a time. */
  readonly #taking = new Map<string, { snapshot: string; done: Promise<void> }>();

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  readonly calls: CallHandlers<MethodsOf<"snapshots">, [session: SnapshotSession]> = {
    "snapshots.take": (session, params) => this.#join(session, params),
  };

  async #join(session: SnapshotSession, params: Take): Promise<void> {
    const { id } = session.row;
    const under = this.#taking.get(id);
    if (under?.snapshot === params.snapshot) return under.done;
    if (under) throw new SandbarError("SNAPSHOT_UNDER_WAY");
    const done = this.#take(session, params).finally(() => this.#taking.delete(id));
    this.#taking.set(id, { snapshot: params.snapshot, done });
    return done;
  }

  async #take(session: SnapshotSession, { snapshot, contexts, on_busy }: Take): Promise<void> {
    const { plane, linked, log } = this.#parts;
    const { id, tenant } = session.row;
    const began = performance.now();
    const abort = new AbortController();
    const target = { tenant, session: id, snapshot };
    const patience = new Patience(PATIENCE_MS, linked, abort.signal);
    const upload = new ChunkUpload(plane, target, patience, abort.signal);
    try {
      const saved: SavedContext[] = [];
      for (const context of contexts) saved.push(await this.#state(session, context, on_busy, upload));
      const files = await upload.add(await tarFromGuest(session, { path: "/session", own: true }));
      await upload.finish();
      const manifest: Manifest = {
        format: SNAPSHOT_FORMAT,
        session: describe(session.row),
        contexts: saved,
        files,
      };
      const bytes = Buffer.from(JSON.stringify(manifest));
      if (bytes.length > MANIFEST_LIMIT_BYTES)
        throw new SandbarError("LIMIT_EXCEEDED", "the snapshot's manifest is too long");
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const head = Buffer.from(`${JSON.stringify({ session: id, snapshot, sha256 })}\n`);
      await patience.until(() =>
        plane.request(target, "PUT", "/agent/snapshots/manifest", [head, bytes], abort.signal),
      );
      log.info({ session: id, snapshot, ms: Math.round(performance.now() - began) }, "snapshot taken");
    } catch (error) {
      // What is on its way for it need not arrive.
      abort.abort(error);
      log.info({ err: error, session: id, snapshot }, "a snapshot failed");
      if (error instanceof Unreachable) throw new SandbarError("HOST_ERROR", error.message);
      throw error;
    }
  }

  async #state(
    session: SnapshotSession,
    { name, language }: Take["contexts"][number],
    on_busy: Take["on_busy"],
    upload: ChunkUpload,
  ): Promise<SavedContext> {
    const nothing = { size: 0, chunks: [] };
    try {
      const { dumped, used } = await stateFromGuest(session, { context: name, on_busy }, (stream) =>
        upload.add(stream),
      );
      const { alive, format, more } = dumped;
      const variables = alive && format === null ? [unsaved(language)] : dumped.variables;
      return { name, language, format: used && format, state: used ?? nothing, variables, more };
    } catch (error) {
      if (error instanceof SandbarError && error.code === "SESSION_NOT_READY")
        throw new SandbarError("CONTEXT_BUSY", `code runs in ${name}`);
      throw error;
    }
  }
}

/** It has a kernel whose variables nobody can write down. */
const unsaved = (language: string): SnapshotVariable => ({
  name: "*",
  type: language,
  status: "lost",
  reason: `this sandbox cannot save variables of ${language}`,
});

function describe({ spec, report }: SessionRow): Manifest["session"] {
  const { runtime, engine = USUAL_ENGINE, image, storage, dataset_access, network, rules } = spec;
  const { limits, dependencies, env } = spec;
  const ready = report.state === "ready" ? report : null;
  return {
    runtime,
    engine,
    image,
    image_used: ready?.image ?? null,
    languages: ready?.languages ?? [],
    storage,
    dataset_access,
    network: rules ? { allow: rules.allow } : network,
    limits,
    dependencies,
    env,
  };
}
