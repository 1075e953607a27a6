import { describe, expect, it } from "vitest";
import { FrameBatch, framesOf } from "./frame-batch.ts";

describe("frames of one moment", () => {
  const collect = () => {
    const messages: string[] = [];
    let due: (() => void)[] = [];
    const batch = new FrameBatch(
      (message) => messages.push(message),
      (flush) => due.push(flush),
    );
    const pass = () => {
      const now = due;
      due = [];
      for (const flush of now) flush();
    };
    return { messages, batch, pass };
  };

  it("share a message, in order, and those of the next one another", () => {
    const { messages, batch, pass } = collect();
    for (const text of ["one", "two\nlines", "three"]) batch.add(JSON.stringify({ text }));
    expect(messages).toEqual([]);
    pass();
    batch.add("4");
    pass();
    pass();
    expect(messages).toHaveLength(2);
    expect(framesOf(messages[0]!).map((frame) => JSON.parse(frame).text)).toEqual([
      "one",
      "two\nlines",
      "three",
    ]);
    expect(messages[1]).toBe("4");
  });

  it("are sent before the message grows too long, and a long one alone", () => {
    const { messages, batch, pass } = collect();
    const long = "x".repeat(300_000);
    for (const frame of ["a", "b", long, "c"]) batch.add(frame);
    pass();
    expect(messages).toEqual(["a\nb", long, "c"]);
  });

  it("go nowhere once they were cleared", () => {
    const { messages, batch, pass } = collect();
    batch.add("lost");
    batch.clear();
    pass();
    expect(messages).toEqual([]);
  });
});
