/** @module Where artifacts lie until they are safe: in a sandbox, or in what one left behind. */
import { type ArtifactEntry, type IngestFile, mediaTypeOf } from "@sandbar/shared";
import { artifactVersion } from "./artifact-name.ts";
import type { PushFile } from "./push-file.ts";

export interface Found {
  readonly entry: ArtifactEntry;
  readonly name: string;
}

export interface Settled {
  /** Safe elsewhere: to be removed, if unchanged. */
  readonly remove?: ArtifactEntry[];
  /** Not to be named again until they change. */
  readonly refused?: ArtifactEntry[];
}

export interface ArtifactFolder {
  /** One look finds only so many. What was to be removed before it is gone. */
  scan(): Promise<ArtifactEntry[]>;
  /** Each whole or not at all. Small files are held in memory, large ones can be read again. */
  read(
    group: readonly Found[],
    skip: (found: Found, reason: string) => void,
    signal: AbortSignal,
  ): Promise<Map<PushFile, Found>>;
  settle(entries: Settled): Promise<void>;
}

/** The file as the control plane is told of it. */
export function ingestFile({ entry, name }: Found, sha256: string): IngestFile {
  return { name, size: entry.size, sha256, mime: mediaTypeOf(name), version: artifactVersion(entry) };
}
