/** @module How a file is shown: by its name, and where that says nothing, by its first bytes. */

export type FileKind = "image" | "csv" | "parquet" | "html" | "svg" | "pdf" | "text" | "binary";

const BY_EXTENSION: Record<string, FileKind> = {
  ...Object.fromEntries(["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico"].map((e) => [e, "image"])),
  csv: "csv",
  tsv: "csv",
  parquet: "parquet",
  html: "html",
  htm: "html",
  xhtml: "html",
  svg: "svg",
  pdf: "pdf",
};

const extensionOf = (name: string) => /\.([A-Za-z0-9]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? "";

/** Null when the bytes must tell. */
export function kindByName(name: string): FileKind | null {
  const extension = extensionOf(name);
  return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension]! : null;
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

const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  ico: "image/x-icon",
};

export function imageType(name: string): string {
  return IMAGES[extensionOf(name)] ?? "image/png";
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
