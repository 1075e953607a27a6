/** @module What sessions may be connected to: the public internet, and what the operator opens. */
import { METADATA_V4, METADATA_V6, SPECIAL_V4, SPECIAL_V6 } from "@sandbar/shared";
import { type Egress, Reach } from "../io/reach.ts";

/** `allow`: private addresses and ranges. */
export function egressOf(allow: readonly string[]): Egress {
  return { refused: [...SPECIAL_V4, ...SPECIAL_V6], allowed: allow, never: [...METADATA_V4, ...METADATA_V6] };
}

export class Reachable extends Reach {
  constructor(allow: readonly string[]) {
    super(egressOf(allow));
  }
}
