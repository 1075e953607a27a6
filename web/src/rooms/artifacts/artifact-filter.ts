/** @module Which artifacts are shown. */
import type { Artifact } from "@sandbar/sdk";
import { kindOf } from "../../preview/preview-source.ts";

export type ArtifactType = "all" | "image" | "table" | "text" | "page" | "other";

export const ARTIFACT_TYPES: readonly { value: ArtifactType; label: string }[] = [
  { value: "all", label: "All types" },
  { value: "image", label: "Images" },
  { value: "table", label: "Tables" },
  { value: "text", label: "Text and JSON" },
  { value: "page", label: "HTML pages" },
  { value: "other", label: "Everything else" },
];

export function typeOf({ name, mime }: Pick<Artifact, "name" | "mime">): Exclude<ArtifactType, "all"> {
  switch (kindOf(name, mime)) {
    case "image":
    case "svg":
      return "image";
    case "csv":
    case "parquet":
      return "table";
    case "json":
    case "text":
      return "text";
    case "html":
      return "page";
    default:
      return "other";
  }
}

/** Every word must be in the name, the type, the session or at the beginning of the hash. */
export function matchArtifacts<A extends Pick<Artifact, "name" | "mime" | "session_id" | "sha256">>(
  artifacts: readonly A[],
  search: string,
  type: ArtifactType,
  sessionName: (id: string) => string | undefined = () => undefined,
): readonly A[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && type === "all") return artifacts;
  return artifacts.filter((artifact) => {
    if (type !== "all" && typeOf(artifact) !== type) return false;
    const { name, mime, session_id } = artifact;
    const text = `${name}\n${mime}\n${session_id}\n${sessionName(session_id) ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word) || artifact.sha256.startsWith(word));
  });
}
