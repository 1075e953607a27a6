/** @module How a file is shown: by its name, and where that says nothing, by its first bytes. */
import { kindOf, type PreviewKind } from "../../preview/preview-source.ts";

/** Text is edited, a PDF downloaded; the rest has a preview, or its bytes are shown. */
export type FileKind = Exclude<PreviewKind, "text" | "json"> | "pdf" | "text" | "binary";

/** Null when the bytes must tell. */
export function kindByName(name: string): FileKind | null {
  if (/\.pdf$/i.test(name)) return "pdf";
  const kind = kindOf(name);
  // A name that promises text may hold anything.
  return kind === "text" || kind === "json" ? null : kind;
}

/** Text is UTF-8 without NUL. A piece may be cut inside a character. */
export function kindByBytes(head: Uint8Array, whole: boolean): "text" | "binary" {
  if (head.includes(0)) return "binary";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: !whole });
    return "text";
  } catch {
    return "binary";
  }
}

/** Lines as `hexdump -C` writes them. */
export function hexLines(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}
