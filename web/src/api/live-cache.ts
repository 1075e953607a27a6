/** @module What one event of the tenant changes in the cache. */
import type { SessionRecord, TenantEvent } from "@sandbar/sdk";
import type { QueryClient } from "@tanstack/react-query";
import { keys } from "./keys.ts";

const runningIn = new Map<string, Set<string>>();

export function applyEvent(client: QueryClient, event: TenantEvent): void {
  switch (event.type) {
    case "session":
      client.setQueryData<SessionRecord[]>(keys.sessions, (list) => list && withSession(list, event.data));
      client.setQueryData<SessionRecord>(keys.session(event.data.id), (old) => old && event.data);
      break;
    case "execution": {
      // A list does not know who is busy; this does. A session's own event may say more, and comes when it does.
      const { session, execution, state } = event.data;
      const running = runningIn.get(session) ?? new Set<string>();
      if (state === "started") running.add(execution);
      else running.delete(execution);
      if (running.size > 0) runningIn.set(session, running);
      else runningIn.delete(session);
      const now = (old: SessionRecord): SessionRecord =>
        old.id === session && (old.status === "ready" || old.status === "busy")
          ? { ...old, status: running.size > 0 ? "busy" : "ready" }
          : old;
      client.setQueryData<SessionRecord[]>(keys.sessions, (list) => list?.map(now));
      client.setQueryData<SessionRecord>(keys.session(session), (old) => old && now(old));
      break;
    }
    case "artifact":
      void client.invalidateQueries({ queryKey: keys.artifacts });
      if (event.data.session_id)
        void client.invalidateQueries({ queryKey: keys.sessionArtifacts(event.data.session_id) });
      break;
    case "host":
      void client.invalidateQueries({ queryKey: keys.hosts });
      break;
    default:
      break;
  }
}

/** The newest first, as the API lists them; the same array when nothing changes. */
export function withSession(list: SessionRecord[], session: SessionRecord): SessionRecord[] {
  const index = list.findIndex(({ id }) => id === session.id);
  if (index === -1) return [session, ...list];
  const next = [...list];
  next[index] = session;
  return next;
}
