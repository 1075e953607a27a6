/** @module Pictures of results: saved under names of their own. */
import { writeFileSync } from "node:fs";
import { freeName } from "../terminal/live.ts";
import { size } from "../terminal/print.ts";

const EXTENSIONS: readonly [RegExp, string][] = [
  [/^\x89PNG/, "png"],
  [/^\xff\xd8\xff/, "jpg"],
  [/^GIF8/, "gif"],
  [/^RIFF.{4}WEBP/s, "webp"],
];

export interface SavedPicture {
  readonly path: string;
  readonly note: string;
}

/** Without a path it could not be saved, and the note says why. */
export type PictureNote = Pick<SavedPicture, "note"> & Partial<SavedPicture>;

export function savePicture(bytes: Uint8Array): SavedPicture {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  const path = freeName(EXTENSIONS.find(([pattern]) => pattern.test(head))?.[1] ?? "bin");
  writeFileSync(path, bytes, { flag: "wx" });
  return { path, note: `saved ${path} (${size(bytes.length)})` };
}
