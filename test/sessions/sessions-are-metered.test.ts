import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AllSessionMetrics, Sample, SessionMetrics } from "@sandbar/shared";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeCollector } from "../fixtures/fake-collector.ts";
import { eventually, freePort } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const MB = 1024 * 1024;

const collector = new FakeCollector();
let metricsPort = 0;
beforeAll(async () => {
  await collector.open();
  metricsPort = await freePort();
});
afterAll(() => collector.close());
const { stack, client } = useStack(() => ({
  serverEnv: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  agentEnv: {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    SANDBAR_METRICS_PORT: String(metricsPort),
    SANDBAR_LOG_LEVEL: "debug",
  },
}));

describe("what a session uses", () => {
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

describe("one request", () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const sampled = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, "x-request-id": "traced-1" };

  it("is one trace, from the client's span to the kernel and the code in it", async () => {
    const { id } = await client.create();
    const code = "import os; print(os.environ['TRACEPARENT'])";
    const { stdout } = await client.run(id, code, {}, sampled);
    const [, seen, kernel] = stdout.trim().split("-");
    expect(seen).toBe(trace);
    const names = [
      "POST /v1/sessions/:id/executions",
      "daemon: execution",
      "daemon: report",
      "daemon: wait for its turn",
      "guest: begin",
      "host: dispatch",
      "kernel: run",
      "session: execution",
    ];
    await eventually("all spans are exported", 30_000, () => collector.ofTrace(trace).length >= names.length);
    const spans = collector.ofTrace(trace);
    expect(spans.map(({ name }) => name).sort()).toEqual(names);
    const by = new Map(spans.map((span) => [span.name, span]));
    const above = (name: string) => spans.find(({ spanId }) => spanId === by.get(name)!.parentSpanId)?.name;
    expect(by.get("POST /v1/sessions/:id/executions")!.parentSpanId).toBe("00f067aa0ba902b7");
    expect(["session: execution", "host: dispatch", "daemon: execution", "kernel: run"].map(above)).toEqual([
      "POST /v1/sessions/:id/executions",
      "session: execution",
      "session: execution",
      "daemon: execution",
    ]);
    expect(by.get("kernel: run")!.spanId).toBe(kernel);
    expect(new Set(spans.map(({ service }) => service))).toEqual(new Set(["sandbar", "sandbar-agent-host"]));
    for (const { startTimeUnixNano, endTimeUnixNano } of spans) {
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
      expect(Math.abs(Number(startTimeUnixNano) / 1e6 - Date.now())).toBeLessThan(600_000);
    }
    expect(by.get("daemon: execution")!.attributes["sandbar.request"]).toBe("traced-1");
    expect(collector.strange).toEqual([]);
  });

  it("is in no trace when its caller has decided so", async () => {
    const { id } = await client.create();
    const before = collector.spans.length;
    const unsampled = { traceparent: `00-${"a".repeat(32)}-00f067aa0ba902b7-00` };
    const { stdout } = await client.run(id, "import os; print('TRACEPARENT' in os.environ)", {}, unsampled);
    expect(stdout.trim()).toBe("False");
    await eventually("its session's own spans are there", 30_000, () => collector.spans.length > before);
    expect(collector.ofTrace("a".repeat(32))).toEqual([]);
  });

  it("has its id in the daemon's log", async () => {
    await client.call("POST", "/v1/sessions", {}, { "x-request-id": "made-1" });
    const lines = readFileSync(join(stack.home, "agent.log"), "utf8").trim().split("\n");
    const made = lines.map((line) => JSON.parse(line)).filter(({ request }) => request === "made-1");
    expect(made.map(({ msg }) => msg)).toContain("session ready");
  });
});

describe("figures of the daemon", () => {
  const get = (headers: Record<string, string> = {}) =>
    request(`http://127.0.0.1:${metricsPort}/metrics`, { headers });

  it("are on the loopback, for who asks by a name of this machine", async () => {
    const { statusCode, body } = await get();
    const lines = (await body.text()).split("\n");
    expect(statusCode).toBe(200);
    const value = (name: string) =>
      Number(
        lines
          .find((line) => line.startsWith(`${name} `))
          ?.split(" ")
          .at(-1),
      );
    expect(value("sandbar_daemon_link_up")).toBe(1);
    expect(value('sandbar_daemon_executions_total{status="ok",code=""}')).toBeGreaterThanOrEqual(2);
    expect(value('sandbar_daemon_execution_stage_seconds_count{stage="run"}')).toBeGreaterThanOrEqual(2);
    expect(value('sandbar_daemon_session_start_seconds_count{from="new"}')).toBeGreaterThanOrEqual(3);
    expect(value("sandbar_daemon_journal_write_seconds_count")).toBeGreaterThan(0);
    expect(value("sandbar_daemon_journal_size_bytes")).toBeGreaterThan(0);
    expect(value("sandbar_daemon_disk_available_bytes")).toBeGreaterThan(0);
    expect(value('sandbar_daemon_sessions{state="ready"}')).toBeGreaterThanOrEqual(1);
    expect(lines.filter((line) => /ses_|exe_|req_/.test(line))).toEqual([]);
    expect((await get({ host: "rebound.example" })).statusCode).toBe(403);
  });
});
