/** @module The tenant's sessions, newest first. */
import type { SessionRecord } from "@sandbar/sdk";
import { queryOptions } from "@tanstack/react-query";
import { queryClient, sandbar } from "./client.ts";
import { keys } from "./keys.ts";

const PAGE = 200;
/** The newest; older ones have mostly ended long ago. */
export const SESSIONS_SHOWN = 2000;

export const sessionsQuery = queryOptions({
  queryKey: keys.sessions,
  queryFn: async (): Promise<SessionRecord[]> => {
    // The list itself does not know who is busy; events tell it from now on.
    const busy = sandbar.sessions({ status: "busy" }).page(undefined, PAGE);
    busy.catch(() => {});
    const all: SessionRecord[] = [];
    let cursor: string | undefined;
    do {
      const page = await sandbar.sessions().page(cursor, PAGE);
      all.push(...page.data);
      cursor = page.next_cursor ?? undefined;
      // The first page is shown at once, the others as they come.
      if (cursor && (queryClient.getQueryData<SessionRecord[]>(keys.sessions)?.length ?? 0) < all.length)
        queryClient.setQueryData(keys.sessions, [...all]);
    } while (cursor && all.length < SESSIONS_SHOWN);
    const atWork = new Map((await busy).data.map((session) => [session.id, session]));
    return all.map((session) => atWork.get(session.id) ?? session);
  },
});

export const metricsQuery = queryOptions({
  queryKey: keys.sessionMetrics,
  queryFn: async () => {
    const { data } = await sandbar.sessionMetrics();
    return new Map(data.map(({ session, samples }) => [session, samples]));
  },
  refetchInterval: 5000,
});
