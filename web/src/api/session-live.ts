/** @module Which sessions are not over. */
import type { SessionRecord } from "@sandbar/sdk";

const LIVE: ReadonlySet<string> = new Set(["creating", "ready", "busy", "stopping"]);

export const isLive = ({ status }: Pick<SessionRecord, "status">) => LIVE.has(status);
