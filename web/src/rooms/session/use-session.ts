import { type Capability, Session } from "@sandbar/sdk";
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useLiveInterval } from "../../api/live.ts";

export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: keys.session(id),
    queryFn: async () => (await sandbar.getSession(id)).info,
  });

/** The session whose room this is, as the SDK's Session: `session.info` is its newest record. */
export function useSession(): Session {
  const { id } = useParams({ strict: false });
  const interval = useLiveInterval();
  const { data } = useSuspenseQuery({ ...sessionQuery(id!), refetchInterval: interval });
  return useMemo(() => new Session(sandbar.http, data), [data]);
}

/** Whether code can run in it, now or soon. */
export function isAlive(session: Pick<Session, "info">): boolean {
  return ["creating", "ready", "busy"].includes(session.info.status);
}

/** Whether its engine has this. What is not known yet, or was made before engines said so, is not denied. */
export function isAble({ info }: Pick<Session, "info">, capability: Capability): boolean {
  return info.capabilities?.includes(capability) ?? true;
}
