import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CommandOrder } from "./order.ts";

describe("the order of commands", () => {
  it("handles each command once and in order, however they arrive", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }).chain((count) => {
          const all = Array.from({ length: count }, (_, i) => i + 8);
          return fc.tuple(fc.shuffledSubarray(all), fc.constant(all));
        }),
        ([early, all]) => {
          const order = new CommandOrder<number>(7);
          const handled: number[] = [];
          for (const n of [...early, ...early, ...all]) {
            const placed = order.place(n, n);
            if (placed.kind === "ready") handled.push(...placed.items.map((i) => i.item));
          }
          expect(handled).toEqual(all);
          expect(order.gap).toBe(false);
        },
      ),
    );
  });

  it("knows what it has had", () => {
    const order = new CommandOrder<string>(3);
    expect(order.place(3, "old").kind).toBe("seen");
    expect(order.place(5, "early").kind).toBe("waits");
    expect(order.gap).toBe(true);
    expect(order.place(4, "due")).toEqual({
      kind: "ready",
      items: [
        { n: 4, item: "due" },
        { n: 5, item: "early" },
      ],
    });
    expect(order.last).toBe(5);
  });
});
