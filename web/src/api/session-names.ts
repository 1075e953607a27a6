/** @module A person knows a session by its key, and what it made tells only its id. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { sessionsQuery } from "./sessions-query.ts";

/** The key, as long as the list of sessions has it. */
export function useSessionNames(enabled: boolean): (id: string) => string | undefined {
  const { data } = useQuery({ ...sessionsQuery, enabled });
  return useMemo(() => {
    const names = new Map(data?.map(({ id, key }) => [id, key]));
    return (id) => names.get(id);
  }, [data]);
}
