/** @module What a session's object tells the tenant's in one call. */
import type { Artifact, ExecutionNews, Session } from "@sandbar/shared";
import type { UsageFact } from "./usage-buckets.ts";

export type SessionNews =
  | { readonly type: "session"; readonly data: Session }
  | { readonly type: "execution"; readonly data: ExecutionNews }
  | { readonly type: "artifact"; readonly data: Artifact };

export interface SessionBatch {
  readonly session: string;
  readonly created_at: number;
  readonly status: Session["status"];
  readonly teller: string;
  readonly n: number;
  readonly ordinal: number;
  readonly open: readonly string[];
  readonly news: readonly SessionNews[];
}

const ENDED = new Set<Session["status"]>(["stopped", "failed", "lost"]);
export const isLive = (status: Session["status"]) => !ENDED.has(status);

export function factsOf(news: readonly SessionNews[]): UsageFact[] {
  return news.flatMap((item): UsageFact[] => {
    if (item.type === "artifact") return [{ at: Date.parse(item.data.created_at), artifact: item.data.size }];
    if (item.type === "session" || item.data.state !== "ended") return [];
    return [{ at: Date.parse(item.data.ended_at ?? item.data.created_at), ended: item.data }];
  });
}
