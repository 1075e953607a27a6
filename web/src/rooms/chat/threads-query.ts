/** @module The tenant's threads, newest first. Nothing tells that one has changed, so they are looked at again. */
import type { ThreadRecord } from "@sandbar/sdk";
import { queryOptions } from "@tanstack/react-query";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";

const LOOK_MS = 4_000;
/** Of a page of the API; whoever has more finds them by their address. */
const MOST = 1_000;

export const threadsQuery = queryOptions({
  queryKey: keys.threads,
  queryFn: () => sandbar.threads.list({ limit: MOST }),
  refetchInterval: LOOK_MS,
});

export const titleOf = ({ metadata }: Pick<ThreadRecord, "metadata">): string => metadata.title || "New chat";
