import type { AllSessionMetrics, Sample, SessionMetrics } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const MB = 1024 * 1024;

describe("what a session uses", () => {
  const { stack, client } = useStack();
  const metrics = (session: string) => client.ok<SessionMetrics>("GET", `/v1/sessions/${session}/metrics`);
  const now = async (session: string): Promise<Sample> => (await metrics(session)).data.at(-1)!;

  let first = "";

  it("is told right after it was made, with its limits", async () => {
    const session = await client.create({ limits: { memory_mb: 512, tmpfs_mb: 64, cpus: 0.5, pids: 100 } });
    first = session.id;
    const { data, interval_ms, limits } = await metrics(first);
    expect(limits).toEqual({ cpus: 0.5, memory_bytes: 512 * MB, pids: 100, disk_bytes: 64 * MB });
    expect(interval_ms).toBe(5000);
    expect(data.length).toBeGreaterThanOrEqual(1);
    const { at, cpu_percent, memory_bytes, processes, disk_bytes } = data.at(-1)!;
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(15_000);
    expect(cpu_percent).toBeGreaterThanOrEqual(0);
    expect(memory_bytes).toBeGreaterThan(5 * MB);
    expect(memory_bytes).toBeLessThan(512 * MB);
    expect(processes).toBeGreaterThanOrEqual(2);
    expect(disk_bytes).toBeLessThan(MB);
  });

  it("follows what its code does: CPU, memory, processes and files", async () => {
    const { id } = await client.create({ limits: { memory_mb: 1024, tmpfs_mb: 128, cpus: 1 } });
    const before = await now(id);
    await client.run(
      id,
      "import os, threading\nblock = bytearray(os.urandom(1)) * 150_000_000\n" +
        "open('/session/data.bin', 'wb').write(b'x' * 30_000_000)\n" +
        "enough = threading.Event()\nfor _ in range(5): threading.Thread(target=enough.wait).start()",
    );
    const after = await now(id);
    expect(after.memory_bytes - before.memory_bytes).toBeGreaterThan(150_000_000);
    expect(after.disk_bytes! - before.disk_bytes!).toBeGreaterThan(29_000_000);
    expect(after.disk_bytes! - before.disk_bytes!).toBeLessThan(40_000_000);
    expect(after.processes - before.processes).toBeGreaterThanOrEqual(5);
    const busy = await client.start(id, "while True: pass", { timeout_s: 120 });
    // Of a machine that has much else to do it may get little.
    await eventually("the CPU is seen to be busy", 30_000, async () => (await now(id)).cpu_percent > 5);
    expect((await now(id)).cpu_percent).toBeLessThan(130);
    await client.ok("POST", `/v1/sessions/${id}/executions/${busy.id}/interrupt`);
    await eventually("and idle again", 30_000, async () => (await now(id)).cpu_percent < 5);
  });

  it("leaves the disk out for a folder of the host", async () => {
    const { id } = await client.create({ storage: "BIND" });
    const { data, limits } = await metrics(id);
    expect([data.at(-1)!.disk_bytes, limits.disk_bytes]).toEqual([null, null]);
    expect(data.at(-1)!.memory_bytes).toBeGreaterThan(MB);
  });

  it("is in one answer for all of a tenant's sessions, and for nobody else's", async () => {
    const other = await stack.clientOf("other");
    const theirs = await other.create();
    const all = async (who: typeof client) =>
      (await who.ok<AllSessionMetrics>("GET", "/v1/metrics/sessions")).data;
    const mine = (await all(client)).map(({ session }) => session);
    expect(mine.length).toBeGreaterThanOrEqual(3);
    expect(mine).not.toContain(theirs.id);
    const [only, ...more] = await all(other);
    expect([only!.session, more]).toEqual([theirs.id, []]);
    expect(only!.samples.at(-1)!.memory_bytes).toBeGreaterThan(MB);
    expect(only!.samples.length).toBeLessThanOrEqual(30);
    const operator = await stack.clientOf("other", ["operator"]);
    expect((await operator.problem("GET", "/v1/metrics/sessions")).body.code).toBe("FORBIDDEN");
  });

  it("may be looked at without keeping the session alive; then it has ended", async () => {
    const { id } = await client.create({ idle_ttl_s: 2 });
    await eventually("the session ends for want of use", 30_000, async () => {
      await client.ok("GET", "/v1/metrics/sessions");
      return (await client.problem("GET", `/v1/sessions/${id}/metrics`)).body.code === "SESSION_ENDED";
    });
    // The first session has been there for a while.
    await eventually("samples are kept", 30_000, async () => (await metrics(first)).data.length >= 3);
    const times = (await metrics(first)).data.map(({ at }) => Date.parse(at));
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
    expect((await client.problem("GET", "/v1/sessions/nonsense/metrics")).body.code).toBe("NOT_FOUND");
  });
});
