import { expect, it } from "vitest";
import { wholeStream } from "./whole-stream.ts";

const streamed = (body: ReadableStream | string, type = "text/event-stream") =>
  new Response(body, { headers: { "content-type": type } });
const never = () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) });

it.each([
  "data: [DONE]",
  'data: {"finish_reason":"stop"}',
  '{"type": "message_stop"}',
  '{"finishReason":"STOP"}',
])("a stream that says its end is whole: %s", async (text) =>
  expect(await wholeStream(streamed(text)).text()).toBe(text),
);

it("a stream that ends without saying so was cut off", async () => {
  await expect(wholeStream(streamed('data: {"delta": "Hel')).text()).rejects.toThrow("cut off");
});

it("what is no stream ends as it likes, but not after more than it may have", async () => {
  const answer = streamed('{"a": 1}', "application/json");
  expect(await wholeStream(answer).json()).toEqual({ a: 1 });
  const long = streamed("x".repeat(20), "application/json");
  await expect(wholeStream(long, { maxBytes: 10 }).text()).rejects.toThrow("longer than 10 bytes");
});

it("a stream that falls silent ends", async () => {
  await expect(wholeStream(streamed(never()), { silenceMs: 5 }).text()).rejects.toThrow("fell silent");
});
