/** @module Follows the tenant's events for as long as somebody is signed in, and keeps the cache true by them. */
import type { TenantEvent } from "@sandbar/sdk";
import type { QueryClient } from "@tanstack/react-query";
import { queryClient } from "./client.ts";
import { keys } from "./keys.ts";
import { applyEvent } from "./live-cache.ts";
import { shareEvents } from "./shared-events.ts";
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

/** Runs until the signal; tabs of one key share what they read. */
export function followEvents(keyId: string, signal: AbortSignal): Promise<void> {
  const onEvent = (event: TenantEvent) => take(queryClient, event);
  return shareEvents(`sandbar events of ${keyId}`, { onEvent, onLive: live.set }, signal);
}

function take(client: QueryClient, event: TenantEvent): void {
  if (event.type === "hello" || event.type === "reset") {
    // What happened before, or in a gap, is only in the lists.
    for (const queryKey of [keys.sessions, ["session"], keys.artifacts, keys.hosts])
      void client.invalidateQueries({ queryKey });
  } else applyEvent(client, event);
  for (const listener of listeners) listener(event);
}
