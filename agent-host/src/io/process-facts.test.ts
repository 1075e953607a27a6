import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fromProc, fromPs } from "./process-facts.ts";

const WAYS = { ...(existsSync("/proc/self/stat") && { "/proc": fromProc }), ps: fromPs };

describe.each(Object.entries(WAYS))("what %s says of a process", (_way, processes) => {
  let child: ChildProcess;
  beforeAll(async () => {
    child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "a mark"], { stdio: "ignore" });
    await once(child, "spawn");
  });
  afterAll(() => void child.kill("SIGKILL"));

  it("is its age, its command, its memory and its parent's children", () => {
    const facts = processes.factsOf(process.pid)!;
    expect(facts.started).toBe(processes.factsOf(process.pid)!.started);
    expect(facts.memoryBytes).toBeGreaterThan(10 * 1024 * 1024);
    expect(facts.privateBytes).toBeGreaterThan(0);
    expect(facts.cpuUs).toBeGreaterThanOrEqual(0);
    expect(processes.commandOf(child.pid!)).toMatch(/a mark$/);
    expect(processes.childrenOf(process.pid)).toContain(child.pid);
  });

  it("is nothing of one that has ended", async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(processes.factsOf(child.pid!)).toBeNull();
    expect(processes.commandOf(child.pid!)).toBe("");
    expect(processes.childrenOf(process.pid)).not.toContain(child.pid);
  });
});
