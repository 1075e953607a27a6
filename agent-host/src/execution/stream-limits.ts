/**
 * The bounds of one execution's output, held again on this side: a guest that ignores them is cut, not trusted.
 * Events keep their numbers; only their content shrinks, the same way each time they are replayed.
 *
 * @module
 */
import {
  cut,
  EVENT_TEXT_LIMIT,
  type KernelEvent,
  MIME_TOTAL_LIMIT,
  MIME_VALUE_LIMIT,
  type MimeBundle,
  STREAM_LIMIT_BYTES,
} from "@sandbar/shared";

/** A chatty day of one line a second fits tenfold. */
export const EVENT_COUNT_LIMIT = 1_000_000;
/** What one event may weigh, so that it always fits a frame with its envelope. */
const EVENT_BYTES = 1_500_000;
const ERROR_FIELD_LIMIT = 100_000;

export class StreamLimits {
  #counted = 0;
  readonly #bytes = { stdout: 0, stderr: 0 };
  /** The last event of each kind that was let through whole. */
  readonly #closedAfter = {
    stdout: Number.POSITIVE_INFINITY,
    stderr: Number.POSITIVE_INFINITY,
    result: Number.POSITIVE_INFINITY,
  };
  #mimeTotal = 0;

  apply(event: KernelEvent): KernelEvent {
    const fresh = event.seq > this.#counted;
    if (fresh) this.#counted = event.seq;
    switch (event.type) {
      case "stdout":
      case "stderr": {
        if (event.seq > this.#closedAfter[event.type]) return { ...event, text: "" };
        if (fresh) {
          this.#bytes[event.type] += Buffer.byteLength(event.text);
          if (this.#bytes[event.type] > STREAM_LIMIT_BYTES + EVENT_TEXT_LIMIT * 4) {
            this.#closedAfter[event.type] = event.seq - 1;
            return { ...event, text: "" };
          }
        }
        return event.text.length > EVENT_TEXT_LIMIT * 2
          ? { ...event, text: cut(event.text, EVENT_TEXT_LIMIT * 2) }
          : event;
      }
      case "result": {
        if (event.seq > this.#closedAfter.result) return { ...event, data: {} };
        const data = withinBytes(event.data);
        if (fresh) {
          this.#mimeTotal += JSON.stringify(data).length;
          if (this.#mimeTotal > MIME_TOTAL_LIMIT * 1.25) {
            this.#closedAfter.result = event.seq - 1;
            return { ...event, data: {} };
          }
        }
        return { ...event, data };
      }
      case "error":
        return {
          ...event,
          name: cut(event.name, 1000),
          value: cut(event.value, ERROR_FIELD_LIMIT),
          traceback: cut(event.traceback, ERROR_FIELD_LIMIT),
        };
      default:
        return event;
    }
  }
}

/** Leaves out the largest values until the rest fits one frame. */
function withinBytes(data: MimeBundle): MimeBundle {
  const sized = Object.entries(data).map(([mime, value]) => ({
    mime,
    value,
    text: JSON.stringify(value) ?? "null",
  }));
  if (sized.every((v) => v.text.length < 10_000) && sized.length < 32) return data;
  const weighed = sized
    .filter((v) => v.text.length <= MIME_VALUE_LIMIT * 2)
    .map((v) => ({ ...v, bytes: Buffer.byteLength(v.text) }))
    .sort((a, b) => a.bytes - b.bytes);
  const kept: MimeBundle = {};
  let room = EVENT_BYTES;
  for (const { mime, value, bytes } of weighed.slice(0, 64)) {
    room -= bytes + mime.length + 4;
    if (room < 0) break;
    kept[mime] = value;
  }
  return kept;
}
