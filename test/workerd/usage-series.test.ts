import { runInDurableObject } from "cloudflare:test";
import type { Problem, UsagePoint, UsageSeries } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { tenantObject } from "../../worker/src/rpc.ts";
import { UsageBuckets } from "../../worker/src/tenant/usage-buckets.ts";
import { bindings, Client } from "./client.ts";
import { type FakeDaemon, onlyHost, outcome, printed, until } from "./fake-daemon.ts";

const MINUTE = 60_000;
const DAY = 24 * 3_600_000;

let daemon: FakeDaemon;
let tenant: string;
let client: Client;
let tenants = 0;
beforeEach(async () => {
  daemon = await onlyHost();
  tenant = `counted-${++tenants}`;
  client = await Client.of(tenant);
});

async function series(query: Record<string, string> = {}, who = client): Promise<UsageSeries> {
  const { status, body } = await who.call<UsageSeries>(
    "GET",
    `/v1/usage/series?${new URLSearchParams(query)}`,
  );
  expect([status, body]).toEqual([200, body]);
  return body;
}

const sum = (data: UsagePoint[], field: "executions" | "artifact_bytes" | "sessions_created") =>
  data.reduce((total, point) => total + point[field], 0);

describe("usage over time", () => {
  it("counts executions, errors, latencies, artifacts and sessions", async () => {
    const sessions = await Promise.all([client.session(), client.session()]);
    const { id } = sessions[0]!;
    daemon.onRun = (run, session) => {
      const now = Date.now();
      const failed = run.code === "fail";
      const artifact = {
        id: "art_1",
        session_id: session,
        execution_id: run.execution,
        name: "a",
        size: 1000,
        mime: "text/plain",
        sha256: "0".repeat(64),
        created_at: new Date(now).toISOString(),
        url: "",
      };
      const over = failed ? { status: "error" as const } : { artifacts: [artifact] };
      const end = outcome({ last_seq: 1, started_at: now - 200, finished_at: now, ...over });
      daemon.events(session, run.execution, printed(), end);
    };
    for (let i = 0; i < 9; i++) await client.execute(id, "fine");
    await client.execute(id, "fail");
    const { data } = await until(async () => {
      const answer = await series();
      const all = sum(answer.data, "executions") === 10 && sum(answer.data, "sessions_created") === 2;
      return all && answer;
    });
    expect(sum(data, "artifact_bytes")).toBe(9000);
    expect(data.at(-1)!.sessions_peak).toBe(2);
    const busy = data.find(({ executions }) => executions > 0)!;
    expect(Math.abs(busy.p50_ms! - 200)).toBeLessThan(10);
    expect(Math.abs(busy.p95_ms! - 200)).toBeLessThan(10);
    expect(data.map(({ errors }) => errors.EXECUTION_ERROR ?? 0).reduce((a, b) => a + b)).toBe(1);
    expect(data.length).toBeLessThanOrEqual(61);
    await Promise.all(sessions.map((session) => client.call("DELETE", `/v1/sessions/${session.id}`)));
    for (const step of ["3600", "86400"]) {
      const coarse = await series({ step });
      expect([coarse.step_s, sum(coarse.data, "executions")]).toEqual([Number(step), 10]);
      expect(coarse.data.at(-1)!.sessions_peak).toBe(2);
    }
  });

  it("remembers what lived while nothing happened, and forgets what is too old", async () => {
    const now = Date.now();
    const at = (ms: number) => new Date(ms).toISOString();
    const ended = (execution: string, ended_at: string) => ({
      type: "execution" as const,
      data: {
        session: "s",
        execution,
        state: "ended",
        status: "ok",
        error_code: null,
        ended_at,
        duration_ms: 1,
      } as never,
    });
    const batch = { session: "s", created_at: now, teller: "t", ordinal: 0, open: [] };
    await tenantObject(bindings, tenant).tell({
      ...batch,
      n: 1,
      status: "ready",
      news: [
        ended("1", at(now - 100 * DAY)),
        ended("2", at(now - 60 * DAY)),
        ended("3", at(now - 90 * MINUTE)),
        ended("4", at(now + DAY)),
      ],
    });
    expect(sum((await series({ step: "86400", from: at(now - 89 * DAY) })).data, "executions")).toBe(3);
    const minutes = await series({ step: "60", from: at(now - 2 * 60 * MINUTE) });
    expect(minutes.data.map(({ executions }) => executions).filter(Boolean)).toEqual([1, 1]);
    expect(minutes.data.map((point) => Date.parse(point.at) % MINUTE).every((rest) => rest === 0)).toBe(true);
    expect(minutes.data.at(-1)!.sessions_peak).toBe(1);
    expect(minutes.data[0]!.sessions_peak).toBe(0);
    // Of this hour too: that something lives now is known of the hour, which began before.
    const newest = await series({ step: "60", from: at(now - MINUTE) });
    expect(newest.data[0]!.sessions_peak).toBe(0);
    const none = await series({ from: at(now - 400 * DAY), to: at(now - 300 * DAY) });
    expect(none.data).toEqual([]);
    // Told twice, it counts once.
    await tenantObject(bindings, tenant).tell({
      ...batch,
      n: 1,
      status: "ready",
      news: [ended("3", at(now))],
    });
    expect(sum((await series()).data, "executions")).toBe(1);
  });

  it("has totals that never fall, also when hours are forgotten", async () => {
    const fact = (at: number) => ({ at, ended: { error_code: "INTERRUPTED", duration_ms: 10 } });
    const object = tenantObject(bindings, tenant);
    await object.series({ from: 0, to: 1, step_s: 3600 });
    await runInDurableObject(bindings.TENANTS.getByName(tenant), (_object, { storage: { sql } }) => {
      const early = Date.parse("2026-01-01T00:00:00Z");
      const usage = new UsageBuckets(sql);
      usage.add([fact(early), { at: early, created: true }], 0, 1, early);
      expect(usage.total()).toMatchObject({ executions: 1, created: 1 });
      usage.add([fact(early + 100 * DAY)], 1, 1, early + 100 * DAY);
      expect(usage.total()).toMatchObject({ executions: 2, errors: { INTERRUPTED: 2 } });
      expect(usage.series({ from: early, to: early + DAY, step_s: 3600 }, early + 100 * DAY)).toEqual([]);
      const again = new UsageBuckets(sql);
      again.add([], 1, 2, early + 300 * DAY);
      const { peak: _, ...total } = new UsageBuckets(sql).total();
      expect(total).toEqual({
        executions: 2,
        errors: { INTERRUPTED: 2 },
        latencies: { 25: 2 },
        artifacts: 0,
        artifact_bytes: 0,
        created: 1,
      });
    });
  });

  it("takes the finest step that fits, and refuses what cannot be", async () => {
    const now = Date.now();
    const ago = (ms: number) => new Date(now - ms).toISOString();
    expect((await series()).step_s).toBe(60);
    expect((await series({ from: ago(DAY) })).step_s).toBe(60);
    expect((await series({ from: ago(10 * DAY) })).step_s).toBe(3600);
    expect((await series({ from: ago(89 * DAY) })).step_s).toBe(86_400);
    const wrong: Record<string, string>[] = [
      { step: "61" },
      { step: "x" },
      { from: "yesterday" },
      { from: ago(0), to: ago(DAY) },
      { from: new Date(now + DAY).toISOString() },
      { step: "60", from: ago(10 * DAY) },
      { from: "0001-01-01T00:00:00Z" },
      { tenant: "Not A Tenant" },
    ];
    for (const query of wrong) {
      const path = `/v1/usage/series?${new URLSearchParams(query)}`;
      const { status, body } = await client.call<Problem>("GET", path);
      expect([query, status, body.code]).toEqual([query, 400, "VALIDATION_FAILED"]);
    }
  });

  it("is another tenant's only for operators", async () => {
    await client.session();
    await until(async () => sum((await series()).data, "sessions_created") === 1);
    const stranger = await Client.of(`${tenant}-other`);
    expect(sum((await series({}, stranger)).data, "sessions_created")).toBe(0);
    const { body } = await stranger.call<Problem>("GET", `/v1/usage/series?tenant=${tenant}`);
    expect(body.code).toBe("FORBIDDEN");
    const operator = await Client.of(`${tenant}-ops`, ["operator"]);
    const seen = await series({ tenant }, operator);
    expect([seen.tenant, sum(seen.data, "sessions_created")]).toEqual([tenant, 1]);
  });
});
