/** @module Which of a value's forms is shown. */
import type { MimeBundle } from "@sandbar/sdk";

/** The richest first. */
const ORDER = [
  "text/html",
  "image/svg+xml",
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "text/markdown",
  "text/latex",
  "application/json",
  "text/plain",
];

/** The forms that can be shown, the one to show first. Unknown text comes last, as text. */
export function shownTypes(bundle: MimeBundle): string[] {
  const known = ORDER.filter((mime) => mime in bundle && isUsable(mime, bundle[mime]));
  const others = Object.keys(bundle).filter(
    (mime) => !ORDER.includes(mime) && (mime.startsWith("text/") || mime.endsWith("+json")),
  );
  return [...known, ...others.sort()];
}

function isUsable(mime: string, value: unknown): boolean {
  if (mime === "application/json") return value !== undefined;
  return typeof value === "string" && (mime === "text/plain" || value !== "");
}

/** Width and height of a PNG in base64, so that its place is kept before it is decoded. */
export function pngSize(base64: string): { width: number; height: number } | null {
  try {
    const head = atob(base64.replace(/\s/g, "").slice(0, 32));
    if (!head.startsWith("\x89PNG") || head.slice(12, 16) !== "IHDR") return null;
    const number = (at: number) => [0, 1, 2, 3].reduce((sum, i) => sum * 256 + head.charCodeAt(at + i), 0);
    return { width: number(16), height: number(20) };
  } catch {
    return null;
  }
}
