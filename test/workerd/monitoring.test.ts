import type { DeepHealth } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { fleetObject } from "../../worker/src/rpc.ts";
import { bindings, Client } from "./client.ts";
import { type FakeDaemon, ORIGIN, onlyHost, outcome, printed, until, worker } from "./fake-daemon.ts";

let daemon: FakeDaemon;
beforeEach(async () => {
  daemon = await onlyHost();
});

const scrape = async (token = "of-prometheus") =>
  worker.fetch(`${ORIGIN}/metrics`, { headers: { Authorization: `Bearer ${token}` } });

describe("figures", () => {
  it("are read with a token that is good for nothing else", async () => {
    const answer = await scrape();
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    for (const token of ["of-prometheu", "of-prometheus2", ""])
      expect((await scrape(token)).status).toBe(401);
    const other = await worker.fetch(`${ORIGIN}/v1/hosts`, {
      headers: { Authorization: "Bearer of-prometheus" },
    });
    expect(other.status).toBe(401);
  });

  it("count what tenants did, and say what hosts have room for", async () => {
    const client = await Client.of("figured");
    const { id } = await client.session();
    daemon.onRun = (run, session) => {
      const now = Date.now();
      const failed = run.code === "fail" ? { status: "timeout" as const } : {};
      const end = outcome({ last_seq: 1, started_at: now - 300, finished_at: now, ...failed });
      daemon.events(session, run.execution, printed(), end);
    };
    for (const code of ["1", "2", "fail"]) await client.execute(id, code);
    // What was read a moment ago is good for some seconds.
    const lines = await until(async () => {
      const all = (await (await scrape()).text()).split("\n");
      return all.includes('sandbar_executions_total{tenant="figured",code="EXECUTION_TIMEOUT"} 1') && all;
    });
    const value = (name: string) =>
      lines
        .find((line) => line.startsWith(`${name} `))
        ?.split(" ")
        .at(-1);
    expect(value('sandbar_executions_total{tenant="figured",code=""}')).toBe("2");
    expect(value('sandbar_sessions_created_total{tenant="figured"}')).toBe("1");
    expect(value('sandbar_tenant_sessions{tenant="figured"}')).toBe("1");
    expect(value('sandbar_tenant_executions_open{tenant="figured"}')).toBe("0");
    expect(value('sandbar_hosts{status="online"}')).toBe("1");
    expect(value(`sandbar_host_up{id="${daemon.host}",name="fake"}`)).toBe("1");
    expect(value(`sandbar_host_sessions{id="${daemon.host}"}`)).toBe("1");
    expect(value(`sandbar_host_sessions_max{id="${daemon.host}"}`)).toBe("100");
    expect(Number(value('sandbar_execution_seconds_bucket{le="0.208"}'))).toBe(0);
    expect(Number(value('sandbar_execution_seconds_bucket{le="0.4458"}'))).toBe(3);
    expect(lines.join("\n")).not.toContain("ses_");
  });
});

describe("health, deeply", () => {
  const look = async () => {
    const answer = await worker.fetch(`${ORIGIN}/healthz?deep`);
    return { status: answer.status, body: await answer.json<DeepHealth>() };
  };

  it("says which part does not answer, and no more", async () => {
    const all = { database: "ok", storage: "ok", objects: "ok", hosts: "ok" };
    const well = await until(async () => {
      const seen = await look();
      return seen.status === 200 && seen;
    });
    expect(well.body).toEqual({ status: "ok", checks: all });
    await fleetObject(bindings).remove(daemon.host);
    const ill = await until(async () => {
      const seen = await look();
      return seen.status === 503 && seen;
    });
    expect(ill.body).toEqual({ status: "failing", checks: { ...all, hosts: "failing" } });
  });
});

describe("a request's id", () => {
  it("goes with what it sets in motion to the host", async () => {
    const client = await Client.of("caused");
    const created = await client.call<{ id: string }>(
      "POST",
      "/v1/sessions",
      {},
      { "X-Request-Id": "make-1" },
    );
    const { id } = created.body;
    await client.execute(id, "1", {
      "X-Request-Id": "run-1",
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
    });
    const listed = client.fetch(`/v1/sessions/${id}/files/list`, { headers: { "X-Request-Id": "list-1" } });
    const call = await daemon.waitFor("call", ({ method }) => method === "files.list");
    daemon.send({ t: "answer", id: call.id, result: { entries: [], next_cursor: null } });
    expect((await listed).status).toBe(200);
    const causes = daemon.commands.flatMap(({ command }) => ("cause" in command ? [command.cause] : []));
    // Where traces do not go anywhere, nobody is told of them.
    expect([...causes, call.cause]).toEqual([
      { request: "make-1" },
      { request: "run-1" },
      { request: "list-1" },
    ]);
  });

  it("is still known of a run that has waited", async () => {
    const client = await Client.of("caused-later");
    const { id } = await client.session();
    const held: [string, string][] = [];
    daemon.onRun = (run, session) => held.push([session, run.execution]);
    const ids = ["first", "second"];
    for (const request of ids)
      await client.execute(id, request, { Prefer: "respond-async", "X-Request-Id": request });
    await until(() => held.length === 1);
    const finish = () => {
      const [session, execution] = held.at(-1)!;
      daemon.events(session, execution, printed(), outcome({ last_seq: 1 }));
    };
    finish();
    await until(() => held.length === 2);
    finish();
    const runs = daemon.runs().map(({ command }) => "cause" in command && command.cause?.request);
    expect(runs).toEqual(ids);
  });
});
