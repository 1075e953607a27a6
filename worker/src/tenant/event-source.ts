/** @module A tenant's events, and for operators the fleet's among them, as server-sent events. */
import type { Artifact } from "@sandbar/shared";
import { type SseChunk, type SseSource, sseEvent } from "../session/sse.ts";
import type { EventLog, LoggedEvent } from "./event-log.ts";
import type { HostFeed } from "./host-feed.ts";

/** Where a reader is: in the tenant's log, and in the fleet's if it may see that. */
export interface Cursor {
  readonly own: number;
  readonly hosts: number | null;
}

export const idOf = ({ own, hosts }: Cursor) => (hosts === null ? `${own}` : `${own}.${hosts}`);

/** Null when it is none of ours. */
export function readCursor(id: string): Cursor | null {
  const [, own, hosts] = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id) ?? [];
  return own === undefined ? null : { own: Number(own), hosts: hosts === undefined ? null : Number(hosts) };
}

export interface EventSourceOptions {
  /** Null for who may not see what happens in the tenant. */
  readonly log: EventLog | null;
  readonly hosts: HostFeed | null;
  /** Gives artifacts their URLs. */
  link(artifact: Artifact): Promise<Artifact>;
  readonly reader: Pick<SseSource, "wait" | "allowed" | "closed">;
}

export function tenantSource({ log, hosts, link, reader }: EventSourceOptions): SseSource<Cursor> {
  let greeted = false;
  return {
    ...reader,
    read(cursor): SseChunk<Cursor> | null | Promise<SseChunk<Cursor>> {
      if (!greeted) {
        greeted = true;
        return { text: sseEvent(idOf(cursor), "hello", {}), cursor, done: false };
      }
      const page = log?.after(cursor.own);
      if (page && "gone" in page) return reset({ ...cursor, own: log!.last });
      if (page) return ownEvents(cursor, page.first, page.events, link);
      const news = hosts?.take();
      if (!news) return null;
      const next = { ...cursor, hosts: news.position };
      if (news.reset) return reset(next);
      // Only the last has the new place: a reader that is cut off before it gets all of them again.
      const id = (index: number) => idOf(index === news.hosts.length - 1 ? next : cursor);
      const text = news.hosts.map((host, index) => sseEvent(id(index), "host", host)).join("");
      return { text, cursor: next, done: false };
    },
  };
}

async function ownEvents(
  cursor: Cursor,
  first: number,
  events: readonly LoggedEvent[],
  link: EventSourceOptions["link"],
): Promise<SseChunk<Cursor>> {
  const text = await Promise.all(
    events.map(async ({ type, data }, index) => {
      const id = idOf({ ...cursor, own: first + index });
      return sseEvent(id, type, type === "artifact" ? await link(data as Artifact) : data);
    }),
  );
  return { text: text.join(""), cursor: { ...cursor, own: first + events.length - 1 }, done: false };
}

function reset(cursor: Cursor): SseChunk<Cursor> {
  return { text: sseEvent(idOf(cursor), "reset", {}), cursor, done: false };
}
