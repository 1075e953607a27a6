/** @module The variables of a context out of a guest and into one, as its kernel writes and reads them: nobody else looks into them. */
import type { Readable } from "node:stream";
import type { GuestAnswer, OnBusy } from "@sandbar/shared";
import { type GuestFiles, into, outOf } from "./guest-transfers.ts";
import { dialled, TURN_MS } from "./transfer-sockets.ts";

/** A cell that runs may have to end first; the guest itself waits no longer. */
const WAIT_MS = 1_800_000;
const ANSWER_MS = 2 * WAIT_MS;

export type DumpedState = GuestAnswer<"state.dump">;

/** Gives the stream to `use`, which must read all of it. */
export function stateFromGuest<T>(
  guest: GuestFiles,
  params: { context: string; on_busy: OnBusy },
  use: (stream: Readable) => Promise<T>,
): Promise<{ dumped: DumpedState; used: T | null }> {
  return guest.transfers.expecting(async ({ id, socket }) => {
    const answer = guest.call("state.dump", { ...params, timeout_ms: WAIT_MS, transfer: id }, ANSWER_MS);
    // A context without a kernel has nothing to send, and need not dial.
    const first = await Promise.race([dialled(socket, answer), answer]);
    if ("variables" in first && first.size === 0) return { dumped: first, used: null };
    const stream = outOf(await socket, async (count) => (await answer).size === count);
    const used = await use(stream);
    return { dumped: await answer, used };
  }, WAIT_MS + TURN_MS);
}

/** Into a context whose kernel has just started. */
export function stateToGuest(
  guest: GuestFiles,
  params: { context: string; language: string; format: string },
  source: Readable,
): Promise<GuestAnswer<"state.load">> {
  return into(guest, "state.load", { ...params, timeout_ms: WAIT_MS }, source);
}
