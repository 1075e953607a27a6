import { ReadableStream as NodeStream } from "node:stream/web";
import { describe, expect, it } from "vitest";
import { type ServerEvent, serverEvents } from "./sse.ts";

const text =
  'retry: 1000\n\nid: 1\nevent: stdout\ndata: {"text":"é"}\n\n: keep-alive\n\nid: 2\r\nevent: finished\r\ndata: a\r\ndata: b\r\n\r\n';

describe("serverEvents", () => {
  it("reads events wherever the bytes are split, even inside a character", async () => {
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 3, 7, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.slice(i * size, (i + 1) * size),
      );
      expect(await collect(NodeStream.from(chunks) as ReadableStream<Uint8Array>)).toEqual([
        { id: "1", event: "stdout", data: '{"text":"é"}' },
        { id: "2", event: "finished", data: "a\nb" },
      ]);
    }
  });

  it("a stream that breaks throws NETWORK_ERROR after what came before", async () => {
    const seen: ServerEvent[] = [];
    const body = NodeStream.from(
      (async function* () {
        yield new TextEncoder().encode("id: 1\ndata: x\n\n");
        throw new Error("reset");
      })(),
    ) as ReadableStream<Uint8Array>;
    await expect(
      (async () => {
        for await (const event of serverEvents(body)) seen.push(event);
      })(),
    ).rejects.toMatchObject({ code: "NETWORK_ERROR", retryable: true });
    expect(seen).toHaveLength(1);
  });

  it("a silent connection is given up, and the stream is cancelled", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        cancelled = true;
      },
    });
    await expect(collect(body, 20)).rejects.toMatchObject({ code: "NETWORK_ERROR" });
    expect(cancelled).toBe(true);
  });
});

async function collect(body: ReadableStream<Uint8Array>, silence?: number): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  for await (const event of serverEvents(body, silence)) events.push(event);
  return events;
}
