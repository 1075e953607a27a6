/** @module From bytes to text events: incremental UTF-8, bounded, coalesced; or to `late` when nobody owns them. */
import type { Execution, Journal } from "./journal.ts";
import { COALESCE_MS, EVENT_TEXT, LATE_BURST, LATE_PER_S } from "./limits.ts";

type Stream = "stdout" | "stderr";
const RECENT = 4096;

/** One stream of one execution. */
export class StreamText {
  readonly #journal: Journal;
  readonly #execution: Execution;
  readonly #name: Stream;
  readonly #decoder = new TextDecoder();
  #pending = "";
  #left: number;
  #timer: NodeJS.Timeout | null = null;
  /** The last of what came, whether there was room for it or not. */
  recent = "";
  /** In UTF-16 code units. */
  total = 0;

  constructor(journal: Journal, execution: Execution, name: Stream) {
    this.#journal = journal;
    this.#execution = execution;
    this.#name = name;
    this.#left = execution.request.stream_limit;
  }

  feed(data: Uint8Array): void {
    this.#take(this.#decoder.decode(data, { stream: true }));
    if (this.#pending.length >= EVENT_TEXT) this.flush();
    else if (this.#pending) this.#timer ??= setTimeout(() => this.flush(), COALESCE_MS);
  }

  finish(): void {
    this.#take(this.#decoder.decode());
    this.flush();
  }

  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    let text = this.#pending;
    this.#pending = "";
    while (text) {
      const piece = text.slice(0, cutAt(text, EVENT_TEXT));
      text = text.slice(piece.length);
      this.#journal.event(this.#execution, this.#name, { text: piece });
    }
  }

  #take(text: string): void {
    if (!text) return;
    this.recent = (this.recent + text).slice(-RECENT);
    this.total += text.length;
    if (this.#left <= 0) return;
    const size = Buffer.byteLength(text);
    this.#pending += size > this.#left ? firstBytes(text, this.#left) : text;
    this.#left -= size;
  }
}

/** Never through the middle of a character. */
function cutAt(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const last = text.charCodeAt(most - 1);
  return last >= 0xd800 && last < 0xdc00 ? most - 1 : most;
}

function firstBytes(text: string, bytes: number): string {
  const cut = Buffer.from(text).subarray(0, bytes);
  return new TextDecoder().decode(cut, { stream: true });
}

/** Output that came after its execution ended, or outside any: worth a look, not worth a flood. */
export class LateText {
  readonly #send: (line: string) => void;
  readonly #context: string;
  readonly #stream: Stream;
  readonly #decoder = new TextDecoder();
  #budget = LATE_BURST;
  #since = performance.now();
  recent = "";

  constructor(send: (line: string) => void, context: string, stream: Stream) {
    this.#send = send;
    this.#context = context;
    this.#stream = stream;
  }

  feed(data: Uint8Array): void {
    this.text(this.#decoder.decode(data, { stream: true }));
  }

  text(all: string): void {
    this.recent = (this.recent + all).slice(-RECENT);
    const now = performance.now();
    this.#budget = Math.min(LATE_BURST, this.#budget + ((now - this.#since) / 1000) * LATE_PER_S);
    this.#since = now;
    let text = all.slice(0, cutAt(all, Math.max(0, Math.floor(this.#budget))));
    this.#budget -= text.length;
    while (text) {
      const piece = text.slice(0, cutAt(text, EVENT_TEXT));
      text = text.slice(piece.length);
      const message = { type: "late", context: this.#context, stream: this.#stream, text: piece };
      this.#send(`${JSON.stringify(message)}\n`);
    }
  }
}
