import { EVENT_TEXT_LIMIT, FRAME_LIMIT_BYTES, type KernelEvent, STREAM_LIMIT_BYTES } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { StreamLimits } from "./stream-limits.ts";

describe("a guest that ignores its limits", () => {
  it("is cut, event by event, the same way at each replay", () => {
    const limits = new StreamLimits();
    const events: KernelEvent[] = Array.from({ length: 200 }, (_, i) => ({
      type: "stdout",
      seq: i + 1,
      text: "x".repeat(EVENT_TEXT_LIMIT),
    }));
    const once = events.map((event) => limits.apply(event));
    const total = once.reduce((sum, event) => sum + (event.type === "stdout" ? event.text.length : 0), 0);
    expect(total).toBeLessThanOrEqual(STREAM_LIMIT_BYTES + EVENT_TEXT_LIMIT * 4);
    expect(once.map((event) => event.seq)).toEqual(events.map((event) => event.seq));
    expect(events.map((event) => limits.apply(event))).toEqual(once);
  });

  it("cannot send a value that fits no frame, and keeps the small ones", () => {
    const value = "é".repeat(900_000);
    const data = { "text/plain": "small", "text/html": value, "image/svg+xml": value };
    const event = new StreamLimits().apply({ type: "result", seq: 2, data });
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(FRAME_LIMIT_BYTES);
    expect(event).toMatchObject({ data: { "text/plain": "small" } });
  });
});
