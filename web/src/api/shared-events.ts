/**
 * The tenant's events, read once for all tabs of a browser: over HTTP/1.1 it has six connections to a server, and tabs
 * that hold one each would leave none for requests. One tab reads and tells the others; when it closes, the next one
 * reads on where it was.
 *
 * @module
 */
import { SandbarError, type TenantEvent } from "@sandbar/sdk";
import { sandbar } from "./client.ts";

type Said = { event: TenantEvent } | { live: boolean } | { asks: true };

export interface SharedEvents {
  onEvent: (event: TenantEvent) => void;
  /** Whether events come, through this tab or another. */
  onLive: (live: boolean) => void;
}

const AGAIN_MS = 3000;

/** Runs until the signal, or until nobody is signed in. Tabs of the same name share. */
export async function shareEvents(name: string, { onEvent, onLive }: SharedEvents, signal: AbortSignal) {
  let lastEventId: string | undefined;
  let live = false;
  const setLive = (next: boolean) => {
    live = next;
    onLive(next);
  };
  const take = (event: TenantEvent) => {
    lastEventId = event.id || lastEventId;
    setLive(true);
    onEvent(event);
  };

  // Browsers have locks only where a page came safely, or from this machine.
  if (!navigator.locks) return readEvents(() => lastEventId, take, setLive, signal);

  const channel = new BroadcastChannel(name);
  let reads = false;
  const say = (said: Said) => channel.postMessage(said);
  channel.onmessage = ({ data }: MessageEvent<Said>) => {
    if ("event" in data) take(data.event);
    else if ("live" in data) setLive(data.live);
    else if (reads) say({ live });
  };
  say({ asks: true });
  try {
    await navigator.locks.request(name, { signal }, () => {
      reads = true;
      const tell = (event: TenantEvent) => {
        say({ event });
        take(event);
      };
      const tellLive = (next: boolean) => {
        say({ live: next });
        setLive(next);
      };
      return readEvents(() => lastEventId, tell, tellLive, signal);
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    channel.close();
  }
}

async function readEvents(
  from: () => string | undefined,
  take: (event: TenantEvent) => void,
  setLive: (live: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of sandbar.events({ lastEventId: from(), signal })) take(event);
    } catch (error) {
      if (signal.aborted) return;
      setLive(false);
      // Signed out: the router leads to the sign-in page, and signing in starts anew.
      if (error instanceof SandbarError && error.status === 401) return;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}
