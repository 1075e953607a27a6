/** @module How busy a host's machine is: only the host itself knows, so it is asked. */
import type { Host } from "@sandbar/sdk";
import { queryOptions } from "@tanstack/react-query";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";

export const hostLoadQuery = (host: Host, everyMs: number) =>
  queryOptions({
    queryKey: keys.hostLoad(host.id),
    queryFn: () => sandbar.hosts.load(host.id),
    enabled: host.status === "online",
    refetchInterval: everyMs,
    retry: false,
  });
