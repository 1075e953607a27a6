/** @module What is previewed, wherever its bytes are, and how it can be shown. */
export interface PreviewSource {
  /** Other bytes have another key: what was read is kept by it. */
  key: readonly unknown[];
  name: string;
  /** What is said of it; the name's ending decides where this says nothing. */
  mime?: string | null;
  size: number;
  /** The bytes from `start` up to, and without, `end`. */
  read: (start: number, end: number, signal?: AbortSignal) => Promise<Uint8Array>;
}

export type PreviewKind = "image" | "svg" | "html" | "json" | "csv" | "parquet" | "audio" | "video" | "text";

/** How much of it is read at most. Images and pages are shown whole or not at all. */
export const PREVIEW_BYTES: Record<PreviewKind, number> = {
  image: 32 * 1024 * 1024,
  audio: 32 * 1024 * 1024,
  video: 64 * 1024 * 1024,
  svg: 4 * 1024 * 1024,
  html: 16 * 1024 * 1024,
  json: 2 * 1024 * 1024,
  csv: 256 * 1024,
  text: 256 * 1024,
  // Its footer and its first rows, which are read by themselves.
  parquet: Number.POSITIVE_INFINITY,
};

const BY_ENDING: Record<string, PreviewKind> = {
  ...of("image", "png jpg jpeg gif webp avif bmp ico"),
  ...of("audio", "mp3 wav ogg flac m4a"),
  ...of("video", "mp4 webm mov"),
  ...of("svg", "svg"),
  ...of("html", "html htm xhtml"),
  ...of("json", "json ipynb geojson"),
  ...of("csv", "csv tsv tab"),
  ...of("parquet", "parquet pq"),
  ...of(
    "text",
    "txt md log py js mjs cjs ts tsx jsx r rmd sh bash sql yaml yml toml ini cfg conf env xml css scss jsonl ndjson " +
      "rs go c h cpp hpp java rb php lua pl tex bib diff patch rst dockerfile makefile gitignore lock",
  ),
};

const IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)$/;

/** Null when there is nothing that a person could look at. */
export function kindOf(name: string, mime?: string | null): PreviewKind | null {
  const type = mime?.toLowerCase().split(";")[0]?.trim() ?? "";
  if (type === "image/svg+xml") return "svg";
  if (IMAGES.test(type)) return "image";
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (type === "text/csv" || type === "text/tab-separated-values") return "csv";
  if (type.includes("parquet")) return "parquet";
  const file = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const byEnding = BY_ENDING[file.slice(file.lastIndexOf(".") + 1)];
  if (byEnding) return byEnding;
  if (/[/+]json$/.test(type)) return "json";
  if (type.startsWith("audio/")) return "audio";
  if (type.startsWith("video/")) return "video";
  if (type.startsWith("text/") || type === "application/xml") return "text";
  return null;
}

/** Bytes with a NUL, or that are no UTF-8, are not text. */
export function textOf(bytes: Uint8Array, whole: boolean): string | null {
  if (bytes.includes(0)) return null;
  try {
    // With `stream` a character that was cut at the end is left out instead of refused.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !whole });
  } catch {
    return null;
  }
}

function of(kind: PreviewKind, endings: string): Record<string, PreviewKind> {
  return Object.fromEntries(endings.split(" ").map((ending) => [ending, kind]));
}
