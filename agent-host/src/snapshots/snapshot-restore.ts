/** @module A snapshot into a session whose box has just been made: its files first, since variables may need them. */
import {
  type ContextReport,
  type Manifest,
  reportOf,
  SandbarError,
  type SnapshotVariable,
} from "@sandbar/shared";
import { Patience } from "../control-plane/patience.ts";
import { type SignedRequests, Unreachable } from "../control-plane/signed-requests.ts";
import { stateToGuest } from "../guest/guest-states.ts";
import { untarToGuest } from "../guest/guest-transfers.ts";
import { ChunkDownload } from "./chunk-download.ts";
import type { SnapshotSession } from "./snapshot-calls.ts";

const PATIENCE_MS = 60_000;

export interface RestoreInto {
  readonly session: SnapshotSession;
  readonly languages: readonly string[];
  readonly signal: AbortSignal;
  /** Resolves when the context's kernel is ready. */
  openContext(name: string, language: string): Promise<void>;
  step(detail: string): void;
}

export class SnapshotRestore {
  readonly #plane: SignedRequests;
  readonly #linked: () => boolean;

  constructor(plane: SignedRequests, linked: () => boolean) {
    this.#plane = plane;
    this.#linked = linked;
  }

  async restore(into: RestoreInto): Promise<ContextReport[]> {
    const { session, signal } = into;
    const { id, tenant, spec } = session.row;
    const { snapshot, digest } = spec.restore!;
    const patience = new Patience(PATIENCE_MS, this.#linked, signal);
    const download = new ChunkDownload(this.#plane, { tenant, session: id, snapshot }, patience, signal);
    try {
      const manifest = await download.manifest(digest);
      const { files } = manifest;
      into.step("files");
      const tar = download.stream(files.chunks);
      await untarToGuest(session, { path: "/session", size: files.size, own: true }, tar);
      const reports: ContextReport[] = [];
      for (const context of manifest.contexts) reports.push(await load(into, download, context));
      return reports;
    } catch (error) {
      if (error instanceof Unreachable) throw new SandbarError("HOST_ERROR", error.message);
      throw error;
    }
  }
}

async function load(
  { session, languages, openContext, step }: RestoreInto,
  download: ChunkDownload,
  { name, language, format, state, variables, more }: Manifest["contexts"][number],
): Promise<ContextReport> {
  if (!languages.includes(language))
    throw new SandbarError(
      "LANGUAGE_UNAVAILABLE",
      `the image does not have ${language}, as context ${name} needs`,
    );
  step(name);
  await openContext(name, language);
  if (format === null) return { name, language, ...reportOf(variables, more) };
  const params = { context: name, language, format };
  const loaded = await stateToGuest(session, params, download.stream(state.chunks)).catch((error) => {
    // Its bytes are those that were stored; this kernel cannot take them.
    if (error instanceof SandbarError && error.code !== "SNAPSHOT_DAMAGED")
      throw new SandbarError(
        "SNAPSHOT_DAMAGED",
        `context ${name} did not take its variables: ${error.message}`,
      );
    throw error;
  });
  return { name, language, ...reportOf(merged(variables, loaded.variables), more) };
}

/** What was lost on the way out stays lost; what got lost on the way in is lost as well. */
function merged(out: readonly SnapshotVariable[], back: readonly SnapshotVariable[]): SnapshotVariable[] {
  const all = new Map(out.map((variable) => [variable.name, variable]));
  for (const variable of back)
    if (variable.status !== "saved" || !all.has(variable.name)) all.set(variable.name, variable);
  return [...all.values()];
}
