/** @module Which sessions the list shows. */
import type { SessionRecord } from "@sandbar/sdk";
import { isLive } from "../../api/session-live.ts";

export type Shown = "live" | "ended" | "all";

export interface SessionFilter {
  text: string;
  show: Shown;
}

/** Every word must be found, somewhere: in key, id, state, runtime, image, host, labels (`team=ml`). */
export function matching(
  sessions: readonly SessionRecord[],
  { text, show }: SessionFilter,
  hostName: (id: string) => string = (id) => id,
): SessionRecord[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return sessions.filter((session) => {
    if (show !== "all" && isLive(session) !== (show === "live")) return false;
    if (words.length === 0) return true;
    const { id, key, status, runtime, image, host_id, labels, storage, network, error } = session;
    const all = [
      id,
      key,
      status,
      runtime,
      image ?? "",
      host_id ? `${host_id} ${hostName(host_id)}` : "",
      storage,
      typeof network === "string" ? network : network.allow.join("\n"),
      error?.code ?? "",
      ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
    ]
      .join("\n")
      .toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
