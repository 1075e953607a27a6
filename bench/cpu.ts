/** @module CPU time by process, from the kernel's own accounts: it says more on a noisy machine than the clock. */
import { readdirSync, readFileSync } from "node:fs";
import type { Stack } from "@sandbar/test/fixtures/stack.ts";

/** By name; all threads of all of its processes count. */
export type Processes = ReadonlyMap<string, readonly number[]>;

/** Whoever works for a cell of this session. */
export async function processesOf(stack: Stack, session: string): Promise<Processes> {
  const { State } = await (await stack.containerOf(session)).inspect();
  const guest = State.Pid;
  return new Map([
    ["workerd", [stack.workerdPid]],
    ["agent-host", [stack.agentPid]],
    ["guest", [guest]],
    ["kernel", childrenOf(guest)],
    ["client", [process.pid]],
  ]);
}

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text ? text.split(" ").map(Number) : [];
}

/** What each has used so far, in ms. */
export function cpuOf(processes: Processes): Map<string, number> {
  return new Map(
    [...processes].map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + cpuMs(pid), 0)]),
  );
}

/** What each used between two readings, for one of `n` cells. */
export function perCell(
  before: Map<string, number>,
  after: Map<string, number>,
  n: number,
): Map<string, number> {
  return new Map([...after].map(([name, ms]) => [name, (ms - before.get(name)!) / n]));
}

/** The product's own part of it. */
export function productCpu(cpu: ReadonlyMap<string, number>): number {
  return [...cpu].reduce((sum, [name, ms]) => sum + (name === "client" ? 0 : ms), 0);
}

function cpuMs(pid: number): number {
  let ns = 0;
  for (const task of readdirSync(`/proc/${pid}/task`))
    try {
      ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      // A thread that has just ended.
    }
  return ns / 1e6;
}
