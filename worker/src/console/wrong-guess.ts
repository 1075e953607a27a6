/** @module What a wrong key or code gets: its refusal, after a pause. A right one never waits, however many guess. */
import { SandbarError } from "@sandbar/shared";

const PAUSE_MS = 1_000;
const WAITING_LIMIT = 20;

let waiting = 0;

export async function wrongGuess(detail: string): Promise<never> {
  if (waiting >= WAITING_LIMIT)
    throw new SandbarError("RATE_LIMITED", "Too many wrong keys and links at once", { retry_after_s: 1 });
  waiting++;
  try {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  } finally {
    waiting--;
  }
  throw new SandbarError("UNAUTHENTICATED", detail);
}
