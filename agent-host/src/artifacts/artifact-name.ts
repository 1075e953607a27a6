/** @module An artifact's name from the raw bytes of its path, and the number under which the same file is known again. */
import { createHash } from "node:crypto";
import type { ArtifactEntry } from "@sandbar/shared";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Verbatim when it is UTF-8. Otherwise readable, and told from its neighbours by a piece of its hash. */
export function artifactName({ path_b64 }: Pick<ArtifactEntry, "path_b64">): string {
  const raw = Buffer.from(path_b64, "base64");
  try {
    return decoder.decode(raw);
  } catch {
    const mark = createHash("sha256").update(raw).digest("hex").slice(0, 8);
    return `${raw.toString("utf8")}~${mark}`;
  }
}

/** A change time cannot be set by code, so the same bytes written anew have another version. */
export function artifactVersion({ ctime_ns }: Pick<ArtifactEntry, "ctime_ns">): string {
  return ctime_ns;
}
