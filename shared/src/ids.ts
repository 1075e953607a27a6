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
  | "con"
  | "aud"
  | "snp"
  | "sec"
  | "tok";

export function newId(prefix: IdPrefix): string {
  let time = Date.now();
  let stamp = "";
  for (let i = 0; i < 10; i++) {
    stamp = ALPHABET[time % 32] + stamp;
    time = Math.floor(time / 32);
  }
  let random = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) random += ALPHABET[byte & 31];
  return `${prefix}_${stamp}${random}`;
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
