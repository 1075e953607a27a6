/** @module Who is signed in, and what they may see. */
import type { Me } from "@sandbar/sdk";
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { sandbar } from "./client.ts";
import { keys } from "./keys.ts";

export type { Me };

export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: () => sandbar.me(),
  staleTime: 60_000,
});

export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

/** Whether hosts and the like are for this caller. The server decides again; this only hides what it would refuse. */
export function mayOperate(me: Me): boolean {
  return me.scopes.includes("operator") || me.scopes.includes("admin");
}

export function mayAdminister(me: Me): boolean {
  return me.scopes.includes("admin");
}

export async function signIn(proof: { api_key: string } | { code: string }): Promise<void> {
  await sandbar.http.send("POST", "/console/sign-in", { json: proof });
}

export async function signOut(): Promise<void> {
  await sandbar.http.send("POST", "/console/sign-out");
}
