/** @module The note of a field: the nearest owner's, else what it means everywhere. */
import { COMMON } from "./common.ts";
import type { FieldNote } from "./field-note.ts";
import { RESOURCES } from "./resources.ts";
import { SESSIONS } from "./sessions.ts";
import { SNAPSHOTS } from "./snapshots.ts";

const NOTES = { ...COMMON, ...SESSIONS, ...RESOURCES, ...SNAPSHOTS };

export function noteOf(owners: readonly string[], field: string): FieldNote | undefined {
  const owner = owners.find((one) => Object.hasOwn(NOTES, `${one}.${field}`));
  return NOTES[owner === undefined ? field : `${owner}.${field}`];
}
