/** @module Whether the control plane answers, and whether we are signed in: learnt from every request there is. */
import { createStore } from "./store.ts";

export type Connection = "connected" | "lost";

export const connection = createStore<Connection>("connected");

/** Counts up whenever an answer says that we are not signed in (any more). */
export const signedOut = createStore(0);

const LOST_AFTER = 2;
let failures = 0;

/** The fetch of the console's client. One failure may be a hiccup; a second one is told. */
export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init);
    // A proxy in front says so when nothing behind it answers.
    if ([502, 504].includes(response.status) && !isProblem(response)) failed();
    else {
      failures = 0;
      connection.set("connected");
    }
    if (response.status === 401) signedOut.set(signedOut.get() + 1);
    return response;
  } catch (error) {
    if (!init?.signal?.aborted) failed();
    throw error;
  }
};

function failed(): void {
  if (++failures >= LOST_AFTER) connection.set("lost");
}

function isProblem(response: Response): boolean {
  return response.headers.get("content-type")?.includes("json") ?? false;
}
