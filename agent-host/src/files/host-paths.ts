/**
 * Files and folders of the host that an operator allows to import. No component may be a link, so nothing that somebody else
 * puts below an allowed folder leads out of it.
 *
 * @module
 */
import { type FileHandle, lstat, readdir, readlink } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { SandbarError } from "@sandbar/shared";
import { TAR_END, tarHeader, tarPadding } from "../io/tar-header.ts";
import { inside, openEntry, openFolder } from "../io/unfollowed.ts";

const CHUNK = 1024 * 1024;
/** What a sandbox unpacks. */
const DEPTH = 200;

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

/** Of the allowed folders, what lies below those that the session's tenant has; folders in both, the narrower one. */
export function narrowed(allowed: readonly string[], below: readonly string[]): string[] {
  const holds = (outer: string, inner: string) =>
    inner === outer || inner.startsWith(outer === "/" ? "/" : `${outer}/`);
  return allowed.flatMap((root) => [
    ...(below.some((folder) => holds(folder, root)) ? [root] : []),
    ...below.filter((folder) => folder !== root && holds(root, folder)),
  ]);
}

export type HostSource =
  | { readonly type: "file"; readonly stream: Readable; readonly size: number }
  /** As tar. */
  | { readonly type: "directory"; readonly stream: Readable };

export async function openHostPath(allowed: readonly string[], source: string): Promise<HostSource> {
  const found = belowAllowed(allowed, source);
  if (!found)
    throw new SandbarError(
      "SOURCE_NOT_ALLOWED",
      "the host path is not below SANDBAR_IMPORT_DIRS, or not below what this tenant may import",
    );
  let entry: FileHandle | null = null;
  try {
    // The allowed folder itself is the operator's word, links and all.
    const folder = await openFolder(found.root, found.parts.slice(0, -1), { trustedRoot: true });
    entry = await openEntry(folder, found.parts.at(-1)!).finally(() => folder.close());
    const status = await entry.stat();
    if (status.isDirectory()) return { type: "directory", stream: tarOf(entry) };
    if (!status.isFile()) throw new SandbarError("NOT_A_FILE", "the host path is not a regular file");
    const { size } = status;
    if (size > 0) return { type: "file", stream: bytesOf(entry, size), size };
    await entry.close();
    return { type: "file", stream: Readable.from([]), size };
  } catch (error) {
    await entry?.close();
    throw refused(error);
  }
}

/** Files, folders and links below a folder, which it closes; pipes, sockets and devices have nothing that could be kept. */
function tarOf(folder: FileHandle): Readable {
  const entries = async function* () {
    yield* entriesOf(folder, []);
    yield TAR_END;
  };
  const stream = Readable.from(entries(), { objectMode: false, highWaterMark: CHUNK });
  // Also one that nobody has read from.
  return stream.once("close", () => void folder.close());
}

async function* entriesOf(folder: FileHandle, above: readonly Buffer[]): AsyncGenerator<Buffer> {
  try {
    if (above.length > DEPTH) throw new SandbarError("LIMIT_EXCEEDED", "the host's folder is too deep");
    const names = await readdir(inside(folder, "."), { encoding: "buffer" });
    for (const part of names.sort(Buffer.compare)) {
      const parts = [...above, part];
      const path = inside(folder, part);
      const status = await lstat(path);
      const entry = { name: joined(parts), size: 0, mode: status.mode, mtimeS: status.mtimeMs / 1000 };
      if (status.isSymbolicLink())
        yield tarHeader({ ...entry, type: "symlink", target: await readlink(path, { encoding: "buffer" }) });
      else if (status.isDirectory()) {
        yield tarHeader({ ...entry, type: "directory" });
        yield* entriesOf(await openEntry(folder, part), parts);
      } else if (status.isFile()) yield* fileOf(await openEntry(folder, part), entry);
    }
  } finally {
    await folder.close();
  }
}

async function* fileOf(
  file: FileHandle,
  entry: { name: Buffer; mode: number; mtimeS: number },
): AsyncGenerator<Buffer> {
  try {
    const status = await file.stat();
    if (!status.isFile())
      throw new SandbarError("NOT_A_FILE", "a file of the host changed into something else");
    const { size } = status;
    yield tarHeader({ ...entry, type: "file", size });
    let left = size;
    while (left > 0) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(left, CHUNK)));
      if (bytesRead === 0)
        throw new SandbarError("TRANSFER_FAILED", "a file of the host became shorter while it was read");
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    yield tarPadding(size);
  } finally {
    await file.close();
  }
}

function bytesOf(file: FileHandle, size: number): Readable {
  return file.createReadStream({ end: size - 1, highWaterMark: CHUNK });
}

function joined(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from("/"), part])));
}

function refused(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return new SandbarError("NOT_FOUND", "the host has no such file");
  if (code === "ELOOP" || code === "ENOTDIR")
    return new SandbarError("SOURCE_NOT_ALLOWED", "the host path leads through a link");
  if (code === "ENXIO") return new SandbarError("NOT_A_FILE", "the host path is not a regular file");
  return error as Error;
}
