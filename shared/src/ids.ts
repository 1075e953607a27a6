/** @module Prefixed, time-sortable ids (`ses_01J…`). */
import { z } from "zod";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export type IdPrefix =
  | "ses"
  | "exe"
  | "ctx"
  | "hst"
  | "key"
  | "box"
  | "req"
  | "art"
  | "prc"
  | "vol"
  | "grt"
  | "src"
  | "con";

export function newId(prefix: IdPrefix): string {
  let random = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) random += ALPHABET[byte & 31];
  return firstId(prefix, Date.now()) + random;
}

/** What ids that are made from then on sort after. */
export function firstId(prefix: IdPrefix, time: number): string {
  let stamp = "";
  for (let i = 0, left = time; i < 10; i++) {
    stamp = ALPHABET[left % 32] + stamp;
    left = Math.floor(left / 32);
  }
  return `${prefix}_${stamp}`;
}

/** When the id was made. */
export function timeOfId(id: string): number {
  let time = 0;
  for (const letter of id.slice(id.indexOf("_") + 1).slice(0, 10))
    time = time * 32 + ALPHABET.indexOf(letter);
  return time;
}

export function idSchema(prefix: IdPrefix) {
  return z
    .string()
    .regex(new RegExp(`^${prefix}_[0-9a-z]{26}$`), `must be an id that starts with ${prefix}_`);
}
