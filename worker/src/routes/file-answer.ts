/** @module A file's bytes as an HTTP answer: its headers, its ranges, and nothing that runs on our origin. */
import { type FileEntry, type HostParams, mediaTypeOf, type OpenedFile, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { contentDisposition, SAFE_HEADERS, servedType } from "../artifacts/headers.ts";
import type { PathParams } from "./file-path.ts";

export const TAR = "application/x-tar";

type Range = Pick<HostParams<"files.read">, "offset" | "length" | "last" | "ranged">;

/** One range; several, or one with If-Range, get everything, as RFC 9110 allows. */
export function rangeParams(c: Context<AppEnv>): Range | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec((c.req.header("Range") ?? "").replace(/\s/g, ""));
  if (!match || c.req.header("If-Range") !== undefined) return null;
  const [, first = "", last = ""] = match;
  if (first === "") return last === "" ? null : { last: Number(last), ranged: true };
  if (last === "") return { offset: Number(first), ranged: true };
  if (Number(last) < Number(first)) return null;
  return { offset: Number(first), length: Number(last) - Number(first) + 1, ranged: true };
}

function nameOf(path: PathParams): string {
  if ("path" in path) return path.path.replace(/\/+$/, "").split("/").at(-1) || "session";
  try {
    const bytes = Uint8Array.from(atob(path.path_b64), (char) => char.charCodeAt(0));
    return new TextDecoder().decode(bytes).split("/").at(-1) || "file";
  } catch {
    return "file";
  }
}

function fileHeaders(
  path: PathParams,
  { type, mtime, etag }: OpenedFile | FileEntry,
): Record<string, string> {
  const name = nameOf(path);
  return {
    ...SAFE_HEADERS,
    "Cache-Control": "no-store",
    "Content-Type": type === "directory" ? TAR : servedType(mediaTypeOf(name)),
    "Content-Disposition": contentDisposition(type === "directory" ? `${name}.tar` : name),
    "Last-Modified": new Date(mtime).toUTCString(),
    ...(type === "file" ? { ETag: `"${etag}"`, "Accept-Ranges": "bytes" } : {}),
  };
}

export function head(path: PathParams, entry: FileEntry, known: string | undefined): Response {
  const { type, size, etag } = entry;
  if (type !== "file" && type !== "directory") throw new SandbarError("NOT_A_FILE", `The path is a ${type}`);
  const headers = fileHeaders(path, entry);
  if (type === "file" && known === etag) return new Response(null, { status: 304, headers });
  return new Response(null, {
    headers: type === "directory" ? headers : { ...headers, "Content-Length": String(size) },
  });
}

export function answer(
  c: Context<AppEnv>,
  path: PathParams,
  opened: OpenedFile,
  bytes: ReadableStream | null,
  ranged: boolean,
): Response {
  const { type, size, offset, length } = opened;
  if (opened.unsatisfiable) {
    c.header("Content-Range", `bytes */${size}`);
    throw new SandbarError("RANGE_NOT_SATISFIABLE", `The file has ${size} bytes`);
  }
  const headers = fileHeaders(path, opened);
  if (opened.not_modified) return new Response(null, { status: 304, headers });
  if (type === "directory") return new Response(bytes, { headers });
  headers["Content-Length"] = String(length);
  if (!ranged) return new Response(bytes, { headers });
  headers["Content-Range"] = `bytes ${offset}-${offset + length - 1}/${size}`;
  return new Response(bytes, { status: 206, headers });
}
