/** @module The first rows of a table file. Loaded when one is looked at. */
import type { FileEntry, Session } from "@sandbar/sdk";
import { decompress as zstd } from "fzstd";
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { decompressBrotli } from "hyparquet-compressors/src/brotli.js";
import { gunzip } from "hyparquet-compressors/src/gzip.js";
import { decompressLz4, decompressLz4Raw } from "hyparquet-compressors/src/lz4.js";
import Papa from "papaparse";
import { pathOf } from "./entry-path.ts";

export interface DataHead {
  columns: { name: string; type: string | null }[];
  rows: string[][];
  /** Null when only reading all of it would tell. */
  total: number | null;
  /** Rows are missing because one piece of the file is too large to read in a page. */
  tooLarge: boolean;
}

const ROWS = 200;
const COLUMNS = 100;
const CSV_BYTES = 512 * 1024;
const CELL_CHARS = 300;
const ROW_GROUP_BYTES = 96 * 1024 * 1024;

export function csvHead(text: string, whole: boolean, delimiter?: string): DataHead {
  const { data } = Papa.parse<string[]>(text, { delimiter: delimiter ?? "", skipEmptyLines: "greedy" });
  // The last line may be cut.
  const lines = whole || data.length < 2 ? data : data.slice(0, -1);
  const [head = [], ...rows] = lines;
  return {
    columns: head.slice(0, COLUMNS).map((name) => ({ name, type: null })),
    rows: rows.slice(0, ROWS).map((row) => row.slice(0, COLUMNS).map(shortened)),
    total: whole ? rows.length : null,
    tooLarge: false,
  };
}

export async function readCsvHead(
  session: Session,
  entry: FileEntry,
  signal: AbortSignal,
): Promise<DataHead> {
  const whole = entry.size <= CSV_BYTES;
  const range = whole ? {} : { start: 0, end: CSV_BYTES };
  const bytes = await session.files.read(pathOf(entry), { signal, ...range });
  const delimiter = /\.tsv$/i.test(entry.name) ? "\t" : undefined;
  return csvHead(new TextDecoder().decode(bytes), whole, delimiter);
}

/** Asks for the footer and the pieces that hold the first rows, never for the whole file. */
export async function readParquetHead(
  session: Session,
  entry: FileEntry,
  signal: AbortSignal,
): Promise<DataHead> {
  const file = {
    byteLength: entry.size,
    slice: async (start: number, end = entry.size): Promise<ArrayBuffer> =>
      (await session.files.read(pathOf(entry), { signal, start, end })).buffer as ArrayBuffer,
  };
  const metadata = await parquetMetadataAsync(file);
  const columns = parquetSchema(metadata)
    .children.slice(0, COLUMNS)
    .map(({ element }) => ({
      name: element.name,
      type: (element.logical_type?.type ?? element.converted_type ?? element.type ?? "group").toLowerCase(),
    }));
  const total = Number(metadata.num_rows);
  const size = Number(
    metadata.row_groups[0]?.total_compressed_size ?? metadata.row_groups[0]?.total_byte_size ?? 0,
  );
  if (size > ROW_GROUP_BYTES) return { columns, rows: [], total, tooLarge: true };
  const read = await parquetReadObjects({
    file,
    metadata,
    columns: columns.map(({ name }) => name),
    rowStart: 0,
    rowEnd: Math.min(ROWS, total),
    // Its own Snappy is JavaScript; the faster one is WebAssembly, which the page's policy does not allow.
    compressors: {
      GZIP: (input, length) => gunzip(input, new Uint8Array(length)),
      BROTLI: decompressBrotli,
      ZSTD: (input) => zstd(input),
      LZ4: decompressLz4,
      LZ4_RAW: decompressLz4Raw,
    },
  });
  const rows = read.map((row) => columns.map(({ name }) => shortened(cellText(row[name]))));
  return { columns, rows, total, tooLarge: false };
}

export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "object")
    return JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? inner.toString() : inner));
  return String(value);
}

function shortened(text: string): string {
  return text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS)}…` : text;
}
