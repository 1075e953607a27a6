import type { FileEntry, FilePath } from "@sandbar/sdk";

/** How the API is asked for an entry: names that are not UTF-8 by their bytes. */
export function pathOf({ path, path_b64 }: Pick<FileEntry, "path" | "path_b64">): FilePath {
  return path_b64 === undefined ? path : { b64: path_b64 };
}
