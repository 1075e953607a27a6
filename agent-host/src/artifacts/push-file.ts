/** @module A file on its way to the control plane, and in whose name it goes there. */
import type { Readable } from "node:stream";
import type { IngestFile } from "@sandbar/shared";
import type { Claim } from "../control-plane/signed-requests.ts";

export interface PushFile extends IngestFile {
  /** Held in memory, in pieces as they came, or to be read again. */
  readonly content: readonly Buffer[] | ((offset: number, length: number) => Promise<Readable>);
}

export interface PushTarget extends Claim {
  readonly execution: string | null;
  /** Files of the same execution that were taken before. */
  readonly taken: number;
}
