import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { mayAdminister, useMe } from "../../api/me.ts";

export type KeyName = (id: string) => string | undefined;

/** Admins know all keys that are not revoked; others know their own. */
export function useKeyNames(): KeyName {
  const me = useMe();
  const { data } = useQuery({
    queryKey: keys.apiKeys,
    queryFn: () => sandbar.keys.list().all(),
    enabled: mayAdminister(me),
  });
  return useMemo(() => {
    const names = new Map([
      [me.key.id, me.key.name],
      ...(data ?? []).map(({ id, name }) => [id, name] as const),
    ]);
    return (id) => names.get(id);
  }, [data, me]);
}
