/**
 * Files of the host that an operator allows to import. Every component is opened on its own and none may be a link, so
 * nothing that somebody else puts below an allowed folder leads out of it.
 *
 * @module
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { SandbarError } from "@sandbar/shared";

const CHUNK = 1024 * 1024;
const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK } = constants;

/** The components below the allowed folder that contains the path; the folder with the longest path wins. */
export function belowAllowed(
  allowed: readonly string[],
  source: string,
): { root: string; parts: string[] } | null {
  if (!path.isAbsolute(source) || source.includes("\0")) return null;
  const given = source.split("/").filter((part) => part !== "" && part !== ".");
  if (given.includes("..")) return null;
  const clean = `/${given.join("/")}`;
  const roots = allowed.filter((root) => clean.startsWith(root === "/" ? "/" : `${root}/`));
  const root = roots.sort((a, b) => b.length - a.length)[0];
  return root ? { root, parts: clean.slice(root.length).split("/").filter(Boolean) } : null;
}

export async function openHostFile(
  allowed: readonly string[],
  source: string,
): Promise<{ stream: Readable; size: number }> {
  const found = belowAllowed(allowed, source);
  if (!found) throw new SandbarError("SOURCE_NOT_ALLOWED", "the host path is not below SANDBAR_IMPORT_DIRS");
  // The allowed folder itself is the operator's word, links and all.
  let folder = await open(found.root, O_RDONLY | O_DIRECTORY);
  let file: FileHandle | null = null;
  try {
    for (const part of found.parts.slice(0, -1)) {
      const next = await open(`/proc/self/fd/${folder.fd}/${part}`, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
      await folder.close();
      folder = next;
    }
    const last = `/proc/self/fd/${folder.fd}/${found.parts.at(-1)}`;
    file = await open(last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const status = await file.stat();
    if (!status.isFile()) throw new SandbarError("NOT_A_FILE", "the host path is not a regular file");
    const { size } = status;
    const stream =
      size === 0 ? Readable.from([]) : file.createReadStream({ end: size - 1, highWaterMark: CHUNK });
    if (size === 0) await file.close();
    return { stream, size };
  } catch (error) {
    await file?.close();
    throw refused(error);
  } finally {
    await folder.close();
  }
}

function refused(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return new SandbarError("NOT_FOUND", "the host has no such file");
  if (code === "ELOOP" || code === "ENOTDIR")
    return new SandbarError("SOURCE_NOT_ALLOWED", "the host path leads through a link");
  if (code === "ENXIO") return new SandbarError("NOT_A_FILE", "the host path is not a regular file");
  return error as Error;
}
