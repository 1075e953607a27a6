/** @module Follows the tenant's events for as long as somebody is signed in, and keeps the cache true by them. */
import type { TenantEvent } from "@sandbar/sdk";
import { SandbarError } from "@sandbar/sdk";
import type { QueryClient } from "@tanstack/react-query";
import { queryClient, sandbar } from "./client.ts";
import { keys } from "./keys.ts";
import { applyEvent } from "./live-cache.ts";
import { createStore, useStore } from "./store.ts";

/** True while events come; otherwise lists ask again every few seconds. */
const live = createStore(false);
const listeners = new Set<(event: TenantEvent) => void>();

/** For rooms that show more than lists; after a `reset` they read again. Returns what ends it. */
export function onTenantEvent(listener: (event: TenantEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const POLL_MS = 4000;

/** `refetchInterval` of what events keep true: none while they come. */
export function useLiveInterval(): number | false {
  return useStore(live) ? false : POLL_MS;
}

const AGAIN_MS = 3000;

/** Runs until the signal; whatever fails is tried again. */
export async function followEvents(signal: AbortSignal): Promise<void> {
  let lastEventId: string | undefined;
  while (!signal.aborted) {
    try {
      for await (const event of sandbar.events({ lastEventId, signal })) {
        lastEventId = event.id || lastEventId;
        live.set(true);
        take(queryClient, event);
      }
    } catch (error) {
      live.set(false);
      if (signal.aborted) return;
      // Signed out: the router leads to the sign-in page, and signing in starts anew.
      if (error instanceof SandbarError && error.status === 401) return;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function take(client: QueryClient, event: TenantEvent): void {
  if (event.type === "hello" || event.type === "reset") {
    // What happened before, or in a gap, is only in the lists.
    for (const queryKey of [keys.sessions, ["session"], keys.artifacts, keys.hosts])
      void client.invalidateQueries({ queryKey });
  } else applyEvent(client, event);
  for (const listener of listeners) listener(event);
}
