import { expect, it } from "vitest";
import { type SseChunk, sseEvent, sseStream } from "./sse.ts";

/** A log of numbers, and how far it was read. */
function log(length: number) {
  const source = {
    reads: 0,
    closes: 0,
    read(cursor: number): SseChunk | null {
      if (cursor >= length) return { text: "", cursor, done: true };
      source.reads++;
      return { text: sseEvent(cursor + 1, "n", cursor + 1), cursor: cursor + 1, done: false };
    },
    wait: () => Promise.resolve(true),
    closed: () => {
      source.closes++;
    },
  };
  return source;
}

const text = (stream: ReadableStream<Uint8Array>) => new Response(stream).text();

it("writes each event as id, event and one line of data", () => {
  expect(sseEvent(7, "stdout", { text: "a\nb" })).toBe('id: 7\nevent: stdout\ndata: {"text":"a\\nb"}\n\n');
});

it("sends what follows the cursor, then closes", async () => {
  const source = log(3);
  expect(await text(sseStream(source, 1))).toBe(`retry: 1000\n${sseEvent(2, "n", 2)}${sseEvent(3, "n", 3)}`);
  expect(source.closes).toBe(1);
});

it("reads no further than its reader", async () => {
  const source = log(1_000_000);
  const reader = sseStream(source, 0).getReader();
  for (let i = 0; i < 5; i++) await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(source.reads).toBeLessThanOrEqual(6);
  await reader.cancel();
  expect(source.closes).toBe(1);
});

it("says that it lives when nothing comes", async () => {
  let waits = 0;
  const stream = sseStream(
    {
      read: (cursor) => (waits > 1 ? { text: "", cursor, done: true } : null),
      wait: () => Promise.resolve(++waits > 1),
    },
    0,
  );
  expect(await text(stream)).toBe("retry: 1000\n: keep-alive\n");
});
