/** @module The first rows of a table in a file. Loaded when one is looked at. */
import { decompress as zstd } from "fzstd";
import { type Compressors, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { decompressBrotli } from "hyparquet-compressors/src/brotli.js";
import { gunzip } from "hyparquet-compressors/src/gzip.js";
import { decompressLz4, decompressLz4Raw } from "hyparquet-compressors/src/lz4.js";
import Papa from "papaparse";
import { PREVIEW_BYTES, type PreviewSource, textOf } from "./preview-source.ts";

export interface FirstRows {
  columns: { name: string; type?: string }[];
  rows: string[][];
  /** How many there are; null when only the beginning was read. */
  total: number | null;
}

export const ROW_LIMIT = 200;
const COLUMN_LIMIT = 200;
const CELL_CHARS = 500;
/** The piece that holds the first rows, which is read whole. */
const ROW_GROUP_BYTES = 96 * 1024 * 1024;

/** Without Snappy, which hyparquet has itself: theirs is WebAssembly, which the page's policy does not allow. */
const compressors: Compressors = {
  GZIP: (input, length) => gunzip(input, new Uint8Array(length)),
  BROTLI: decompressBrotli,
  ZSTD: (input) => zstd(input),
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
};

export async function csvRows(source: PreviewSource, signal?: AbortSignal): Promise<FirstRows> {
  const end = Math.min(source.size, PREVIEW_BYTES.csv);
  const whole = end === source.size;
  const text = textOf(await source.read(0, end, signal), whole);
  if (text === null) throw new Error("this is not text in UTF-8");
  return parseCsv(text, whole);
}

export function parseCsv(text: string, whole: boolean): FirstRows {
  const { data } = Papa.parse<string[]>(text, { skipEmptyLines: "greedy" });
  // The last line may be half of one.
  const lines = whole ? data : data.slice(0, -1);
  const [header = [], ...rows] = lines;
  return {
    columns: header.slice(0, COLUMN_LIMIT).map((name) => ({ name: shown(name) })),
    rows: rows.slice(0, ROW_LIMIT).map((row) => row.slice(0, COLUMN_LIMIT).map(shown)),
    total: whole ? rows.length : null,
  };
}

export async function parquetRows(source: PreviewSource, signal?: AbortSignal): Promise<FirstRows> {
  const file = {
    byteLength: source.size,
    slice: async (start: number, end = source.size) => {
      const from = start < 0 ? source.size + start : start;
      const bytes = await source.read(from, end, signal);
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    },
  };
  const metadata = await parquetMetadataAsync(file);
  const total = Number(metadata.num_rows);
  const [first] = metadata.row_groups;
  if (Number(first?.total_compressed_size ?? first?.total_byte_size ?? 0) > ROW_GROUP_BYTES)
    throw new Error("its first row group is too large for a page; read it with code in the session");
  const columns = metadata.schema
    .slice(1)
    .flatMap(({ name, type, logical_type, converted_type, num_children }) =>
      // Only columns at the top: those below belong to a nested one.
      num_children === undefined ? [{ name, type: logical_type?.type ?? converted_type ?? type }] : [],
    )
    .slice(0, COLUMN_LIMIT);
  const objects = await parquetReadObjects({
    file,
    metadata,
    compressors,
    rowStart: 0,
    rowEnd: Math.min(total, ROW_LIMIT),
  });
  const names = Object.keys(objects[0] ?? {});
  const known = names.length > 0 ? names.slice(0, COLUMN_LIMIT) : columns.map(({ name }) => name);
  return {
    columns: known.map((name) => ({
      name: shown(name),
      type: columns.find((column) => column.name === name)?.type?.toLowerCase(),
    })),
    rows: objects.map((row) => known.map((name) => shown(row[name]))),
    total,
  };
}

function shown(value: unknown): string {
  const text =
    value === null || value === undefined
      ? ""
      : value instanceof Date
        ? value.toISOString()
        : typeof value === "object"
          ? JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? String(inner) : inner))
          : String(value);
  return text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS)}…` : text;
}
