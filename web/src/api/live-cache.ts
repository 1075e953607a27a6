/** @module What one event of the tenant changes in the cache. */
import type { SessionRecord, TenantEvent } from "@sandbar/sdk";
import type { QueryClient } from "@tanstack/react-query";
import { keys } from "./keys.ts";

export function applyEvent(client: QueryClient, event: TenantEvent): void {
  switch (event.type) {
    case "session":
      client.setQueryData<SessionRecord[]>(keys.sessions, (list) => list && withSession(list, event.data));
      client.setQueryData<SessionRecord>(keys.session(event.data.id), (old) => old && event.data);
      break;
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
