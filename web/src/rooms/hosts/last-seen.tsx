import type { Host } from "@sandbar/sdk";
import { Time } from "../../ui/time.tsx";

/** The list hears of a heartbeat that comes only now and then: a host that is online was heard within the minute. */
export function LastSeen({ host }: { host: Host }) {
  if (host.status !== "online") return <Time at={host.last_seen_at} />;
  const told = host.last_seen_at && new Date(host.last_seen_at).toLocaleString();
  return (
    <span title={told ? `noted at ${told}; heartbeats come every 10 seconds` : undefined}>&lt; 1m ago</span>
  );
}
