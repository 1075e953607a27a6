import { expect, it } from "vitest";
import { filterFor } from "./system-calls.ts";

const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
const KILL = 0x80000000;
const X86 = { audit: 0xc000003e, column: 0 } as const;
const ARM = { audit: 0xc00000b7, column: 1 } as const;

/** What the system's own interpreter of such filters does with these five instructions. */
function judged(machine: typeof X86 | typeof ARM, audit: number, number: number): number {
  const filter = filterFor(machine);
  let loaded = 0;
  for (let at = 0; at < filter.length; at++) {
    const [code, ifTrue, ifFalse, value] = filter[at]!;
    if (code === 0x20) loaded = value === 0 ? number : audit;
    else if (code === 0x15) at += loaded === value ? ifTrue : ifFalse;
    else if (code === 0x35) at += loaded >= value ? ifTrue : ifFalse;
    else if (code === 0x06) return value;
  }
  throw new Error("it ran off its end");
}

it("refuses what a kernel has no use for on each machine, and lets the rest pass", () => {
  const [x86, arm] = [(n: number) => judged(X86, X86.audit, n), (n: number) => judged(ARM, ARM.audit, n)];
  expect([88, 266, 59, 41, 135].map(x86)).toEqual(Array(5).fill(EPERM));
  expect([36, 37, 221, 198, 92].map(arm)).toEqual(Array(5).fill(EPERM));
  // read, write, openat, mmap, clone3.
  expect([0, 1, 257, 9, 435].map(x86)).toEqual(Array(5).fill(ALLOW));
  expect([63, 64, 56, 222, 435].map(arm)).toEqual(Array(5).fill(ALLOW));
});

it("refuses the other numbers of the same calls, and ends a process of another machine's calls", () => {
  expect(judged(X86, X86.audit, 0x40000000 + 88)).toBe(EPERM);
  expect(judged(X86, 0x40000003, 83)).toBe(KILL);
});

it("has jumps that fit their eight bits", () => {
  for (const machine of [X86, ARM])
    for (const [, ifTrue, ifFalse] of filterFor(machine)) expect(Math.max(ifTrue, ifFalse)).toBeLessThan(256);
});
