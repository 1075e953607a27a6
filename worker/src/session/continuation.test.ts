import type { KernelEvent } from "@sandbar/shared";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { continueLog } from "./continuation.ts";

const event = (seq: number): KernelEvent => ({ type: "stdout", seq, text: String(seq) });
const from = (first: number, last: number) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => event(first + i));

describe("a report", () => {
  it("continues the log with what is new", () => {
    expect(continueLog(2, from(1, 4), null)).toEqual({ fresh: from(3, 4), complete: false });
  });

  it("with a gap is refused whole", () => {
    expect(continueLog(2, from(4, 5), null)).toEqual({ resend: 2 });
    expect(continueLog(2, [event(3), event(5)], null)).toEqual({ resend: 2 });
  });

  it("completes the execution only when every event is there", () => {
    expect(continueLog(2, from(3, 4), { last_seq: 4 })).toEqual({ fresh: from(3, 4), complete: true });
    expect(continueLog(2, from(3, 4), { last_seq: 5 })).toEqual({ fresh: from(3, 4), complete: false });
    expect(continueLog(2, [], { last_seq: 5 })).toEqual({ resend: 2 });
    expect(continueLog(2, [], { last_seq: null })).toEqual({ fresh: [], complete: true });
  });

  it("in any number of pieces, repeated and shuffled, with resends answered, gives each event once", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 })), {
          maxLength: 30,
        }),
        (total, pieces) => {
          const log: number[] = [];
          const take = (events: KernelEvent[], done: boolean) => {
            const next = continueLog(log.length, events, done ? { last_seq: total } : null);
            if ("resend" in next) return false;
            log.push(...next.fresh.map(({ seq }) => seq));
            return next.complete;
          };
          for (const [first, length] of pieces) take(from(first, Math.min(total, first + length)), false);
          expect(take(from(log.length + 1, total), true)).toBe(true);
          expect(log).toEqual(from(1, total).map(({ seq }) => seq));
        },
      ),
    );
  });
});
