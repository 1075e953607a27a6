/**
 * What an execution left in /session/artifacts: read, brought to the control plane, and only then removed.
 * A file that cannot be taken now stays where it is, and the next execution finds it again.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Artifact,
  type ArtifactEntry,
  BUNDLE_BLOBS,
  BUNDLE_BYTES,
  type IngestCheckAnswer,
  type Outcome,
  SMALL_BLOB_BYTES,
} from "@sandbar/shared";
import { Patience } from "../control-plane/patience.ts";
import type { SignedRequests } from "../control-plane/signed-requests.ts";
import type { GuestFiles } from "../guest/guest-transfers.ts";
import type { Log } from "../host/log.ts";
import { Turns } from "../io/turns.ts";
import { type ArtifactFolder, type Found, ingestFile, type Settled } from "./artifact-folder.ts";
import { artifactName } from "./artifact-name.ts";
import { checkFiles, pushFiles, refusalOf } from "./artifact-push.ts";
import { type ArtifactGuest, GuestArtifacts } from "./guest-artifacts.ts";
import type { PushFile, PushTarget } from "./push-file.ts";

/** Each may hold one bundle in memory. */
const AT_ONCE = 4;
const LAST_LOOKS = 20;
const LAST_PAUSE_MS = 50;
/** In the guest's words. */
const STILL_WRITTEN = "still being written";
const NAME_LIMIT = 4096;
/** Descriptors ride in one frame with the outcome. */
const NAMES_LIMIT_CHARS = 1_000_000;
const SKIPPED_LIMIT_CHARS = 500_000;
const REASONS = {
  directory: "a folder that cannot be read",
  symlink: "a symbolic link",
  fifo: "a named pipe",
  socket: "a socket",
  device: "a device",
} as const;

/** In whose name artifacts are taken. */
export interface IngestOwner {
  readonly row: { readonly id: string; readonly tenant: string };
}

export type IngestSession = IngestOwner & GuestFiles & ArtifactGuest;

export type Ingested = Pick<Outcome, "artifacts" | "artifacts_skipped">;

/** What an execution's artifacts are so far, kept where a killed daemon's successor finds it. */
export interface Ledger {
  readonly kept: readonly Artifact[];
  keep(artifacts: readonly Artifact[]): void;
}

export interface IngestOptions {
  readonly plane: SignedRequests;
  readonly giveUpMs: number;
  readonly log: Log;
  /** Whether the control plane can be told of an outcome now. */
  linked(): boolean;
}

export class ArtifactIngest {
  readonly #options: IngestOptions;
  readonly #turns = new Turns(AT_ONCE);

  constructor(options: IngestOptions) {
    this.#options = options;
  }

  /** Never fails: what could not be taken is named with the reason. What was taken is gone for all that the guest is told later. */
  async take(
    session: IngestSession,
    execution: string | null,
    entries: readonly ArtifactEntry[],
    signal: AbortSignal,
    ledger: Ledger = { kept: [], keep() {} },
  ): Promise<Ingested> {
    return this.#take(session, new GuestArtifacts(session), execution, entries, signal, ledger);
  }

  async #take(
    owner: IngestOwner,
    folder: ArtifactFolder,
    execution: string | null,
    entries: readonly ArtifactEntry[],
    signal: AbortSignal,
    ledger: Ledger,
  ): Promise<Ingested> {
    const artifacts = new Map(ledger.kept.map((artifact) => [artifact.id, artifact]));
    const safe = new Set(ledger.kept.map(({ name }) => name));
    const artifacts_skipped: Ingested["artifacts_skipped"] = [];
    const skip = ({ name }: Found, reason: string) => {
      // Gone, because an earlier daemon had come as far as its removal.
      if (!safe.has(name)) artifacts_skipped.push({ name, reason });
    };
    const unwanted: ArtifactEntry[] = [];
    const files: Found[] = [];
    let names = 0;
    for (const entry of entries) {
      const found = { entry, name: artifactName(entry) };
      names += JSON.stringify(found.name).length;
      if (names > NAMES_LIMIT_CHARS) skip(found, "too many: left for the next execution");
      else if (entry.kind === "file" && found.name.length <= NAME_LIMIT) files.push(found);
      else {
        skip(found, entry.kind === "file" ? "the path is too long" : REASONS[entry.kind as "symlink"]);
        unwanted.push(entry);
      }
    }
    // For all of them together: a store that is down must not hold an outcome up for each group anew.
    const { plane, giveUpMs, linked } = this.#options;
    const patience = new Patience(giveUpMs, linked, signal);
    for (const group of inGroups(files)) {
      try {
        await this.#turns.take(async () => {
          const target = { ...owner.row, session: owner.row.id, execution, taken: artifacts.size };
          // A large one is alone.
          const first = group[0]!;
          const refusal = await patience.until(() => refusalOf(plane, target, ingestFile(first, ""), signal));
          if (refusal) {
            skip(first, refusal.reason);
            if (refusal.final) unwanted.push(first.entry);
            return;
          }
          const [read, answer] = await Promise.all([
            folder.read(group, skip, signal),
            this.#ask(target, group, signal),
          ]);
          let known = isAsSaid(group, read) ? answer : null;
          const { recorded, refused } = await patience.until(() => {
            const answered = known;
            known = null;
            return pushFiles(
              plane,
              target,
              [...read.keys()],
              signal,
              (attempt) => patience.until(attempt),
              answered,
            );
          });
          for (const artifact of recorded.values()) artifacts.set(artifact.id, artifact);
          ledger.keep([...artifacts.values()]);
          for (const [file, { reason, final }] of refused) {
            skip(read.get(file)!, reason);
            if (final) unwanted.push(read.get(file)!.entry);
          }
          this.#settle(folder, { remove: [...recorded.keys()].map((file) => read.get(file)!.entry) });
        }, signal);
      } catch (error) {
        const done = new Set([...artifacts.values(), ...artifacts_skipped].map(({ name }) => name));
        const reason = signal.aborted ? "the session ended first" : (error as Error).message;
        for (const found of group)
          if (!done.has(found.name)) skip(found, `left for the next execution: ${reason}`);
        this.#options.log.warn({ err: error, session: owner.row.id }, "artifacts stay where they are");
      }
    }
    this.#settle(folder, { refused: unwanted });
    return { artifacts: [...artifacts.values()], artifacts_skipped: bounded(artifacts_skipped) };
  }

  /** While they are read, on the guest's word for their hashes. Null when it gave none, or nothing came of it. */
  async #ask(
    target: PushTarget,
    group: readonly Found[],
    signal: AbortSignal,
  ): Promise<IngestCheckAnswer | null> {
    const said = group.flatMap((found) => (found.entry.sha256 ? ingestFile(found, found.entry.sha256) : []));
    if (said.length < group.length) return null;
    return checkFiles(this.#options.plane, target, said, signal).catch(() => null);
  }

  /** At the end of a session; for an idle one without artifacts this is one short question. */
  async takeLast(session: IngestSession, signal: AbortSignal): Promise<void> {
    const folder = new GuestArtifacts(session);
    for (let look = 0; look < LAST_LOOKS && !signal.aborted; look++) {
      try {
        const entries = await folder.scan();
        if (entries.length === 0) return;
        const { artifacts, artifacts_skipped } = await this.take(session, null, entries, signal);
        // There may be more than one look finds, or than one execution may leave.
        if (artifacts.length > 0) continue;
        // A kernel that was killed a moment ago may still hold its files.
        if (!artifacts_skipped.some(({ reason }) => reason === STILL_WRITTEN)) {
          // Answered when the removal is done, which a BIND folder outlives.
          await session.call("ping", {});
          return;
        }
        await sleep(LAST_PAUSE_MS);
      } catch (error) {
        this.#options.log.warn({ err: error, session: session.row.id }, "could not look for last artifacts");
        return;
      }
    }
  }

  /** From a sandbox that has died. Says in words what became of them. */
  async takeLeft(
    owner: IngestOwner,
    folder: ArtifactFolder,
    entries: readonly ArtifactEntry[],
    signal: AbortSignal,
  ): Promise<string> {
    const ledger = { kept: [], keep() {} };
    const taken = new Set<string>();
    let left = 0;
    let found = entries;
    for (let look = 0, before = -1; look < LAST_LOOKS && taken.size > before && !signal.aborted; look++) {
      before = taken.size;
      const { artifacts, artifacts_skipped } = await this.#take(owner, folder, null, found, signal, ledger);
      for (const { id } of artifacts) taken.add(id);
      left = artifacts_skipped.length;
      found = await folder.scan();
    }
    const saved = `${taken.size} of its artifacts were saved`;
    return left === 0 ? saved : `${saved}, ${left} were not`;
  }

  /** Not waited for. A file that stays is found again, and known by its version. */
  #settle(folder: ArtifactFolder, entries: Settled): void {
    if (!entries.remove?.length && !entries.refused?.length) return;
    folder
      .settle(entries)
      .catch((error) => this.#options.log.info({ err: error }, "artifacts were not removed"));
  }
}

function isAsSaid(group: readonly Found[], read: ReadonlyMap<PushFile, Found>): boolean {
  return read.size === group.length && [...read].every(([{ sha256 }, { entry }]) => sha256 === entry.sha256);
}

/** Small files by the bundle, each large one alone. */
function* inGroups(files: readonly Found[]): Generator<Found[]> {
  let group: Found[] = [];
  let bytes = 0;
  for (const found of files) {
    const { size } = found.entry;
    if (size > SMALL_BLOB_BYTES) {
      yield [found];
      continue;
    }
    if (bytes + size > BUNDLE_BYTES || group.length >= BUNDLE_BLOBS) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(found);
    bytes += size;
  }
  if (group.length > 0) yield group;
}

/** As many as fit beside the descriptors; the control plane would refuse a longer frame, again and again. */
function bounded(skipped: Ingested["artifacts_skipped"]): Ingested["artifacts_skipped"] {
  let room = SKIPPED_LIMIT_CHARS;
  const end = skipped.findIndex((one) => {
    room -= JSON.stringify(one).length + 1;
    return room < 0;
  });
  if (end < 0) return skipped;
  return [...skipped.slice(0, end), { name: "", reason: `${skipped.length - end} more, too many to name` }];
}
