/** @module The two logs of a session as server-sent events. */
import type { Execution, KernelEvent } from "@sandbar/shared";
import type { Journal } from "./journal.ts";
import { hasEnded } from "./machine.ts";
import type { Records } from "./record.ts";
import { type SseChunk, type SseSource, sseEvent } from "./sse.ts";

type Reader = Pick<SseSource, "wait" | "closed" | "allowed">;

/** The kernel's events, then the artifacts, then exactly one `finished`; `link` gives the artifacts their URLs. */
export function executionSource(
  journal: Journal,
  id: string,
  reader: Reader,
  link: (execution: Execution) => Promise<Execution>,
): SseSource {
  return {
    ...reader,
    read(cursor): SseChunk | null | Promise<SseChunk> {
      const batch = journal.batchAfter(id, cursor);
      if (batch) {
        let text = "";
        batch.events.forEach((event, index) => {
          const position = batch.first + index;
          if (position > cursor) text += sseEvent(position, event.type, sseData(event));
        });
        return { text, cursor: batch.last, done: false };
      }
      const row = journal.find(id);
      if (!row) return { text: "", cursor, done: true };
      if (row.state !== "done") return null;
      return link(journal.record(id)!).then((record) => {
        let position = row.position;
        let text = "";
        for (const artifact of record.artifacts)
          if (++position > cursor) text += sseEvent(position, "artifact", artifact);
        if (++position > cursor) text += sseEvent(position, "finished", record);
        return { text, cursor: position, done: true };
      });
    },
  };
}

function sseData(event: KernelEvent): unknown {
  switch (event.type) {
    case "started":
      return {};
    case "stdout":
    case "stderr":
      return { text: event.text };
    case "result":
      return event.data;
    case "error":
      return { name: event.name, value: event.value, traceback: event.traceback };
  }
}

/** States and progress, until the session has ended. */
export function sessionSource(records: Records, reader: Reader): SseSource {
  return {
    ...reader,
    read(cursor): SseChunk | null {
      const entries = records.logAfter(cursor);
      if (entries.length > 0)
        return {
          text: entries.map(({ position, event, data }) => sseEvent(position, event, data)).join(""),
          cursor: entries.at(-1)!.position,
          done: false,
        };
      const session = records.session;
      return !session || hasEnded(session.state) ? { text: "", cursor, done: true } : null;
    },
  };
}
