import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { type Execution, newId, type Problem, type Session } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { bindings, Client } from "./client.ts";
import { type FakeDaemon, onlyHost, outcome, until } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
beforeEach(async () => {
  daemon = await onlyHost();
  client = await Client.of("acme");
});

const stubOf = (id: string) => bindings.SESSIONS.getByName(`acme/${id}`);
const sessionNow = async (id: string) => (await client.call<Session>("GET", `/v1/sessions/${id}`)).body;
const list = async (query = "") =>
  (await client.call<{ data: Session[]; next_cursor: string | null }>("GET", `/v1/sessions${query}`)).body;
/** Rings now, as if it were later: the session's own times are moved back. */
const later = async (id: string, ms: number) => {
  await runInDurableObject(stubOf(id), async (_, ctx) => {
    ctx.storage.sql.exec("UPDATE activity SET last_used_at = last_used_at - ?", ms);
    const { json } = ctx.storage.sql.exec<{ json: string }>("SELECT json FROM session").one();
    const session = JSON.parse(json);
    ctx.storage.sql.exec(
      "UPDATE session SET json = ?",
      JSON.stringify({ ...session, created_at: session.created_at - ms }),
    );
    await ctx.storage.sync();
  });
  await runInDurableObject(stubOf(id), (_, ctx) => ctx.abort("reload")).catch(() => undefined);
  await runInDurableObject(stubOf(id), (_, ctx) => ctx.storage.setAlarm(Date.now() + 60_000));
  await runDurableObjectAlarm(stubOf(id));
};

describe("creation", () => {
  it("without a host is refused with a hint when to come back, and leaves nothing behind", async () => {
    daemon.send({ t: "capacity", capacity: { ...daemon.capacity, max_sessions: 0 } });
    const answer = await until(async () => {
      const tried = await client.call<Problem & Session>("POST", "/v1/sessions", { key: "none" });
      return tried.status === 503 && tried;
    });
    expect(answer.body).toMatchObject({ code: "NO_HOST_AVAILABLE", retryable: true });
    expect(answer.headers.get("Retry-After")).toBe("5");
    expect((await list("?key=none")).data.filter(({ status }) => status === "failed")).toEqual([]);
  });

  it("that the host refuses answers the host's reason, and the session says it too", async () => {
    daemon.obliging = false;
    const created = client.call<Problem>("POST", "/v1/sessions", { image: "nope" });
    const { session } = await daemon.waitFor("command");
    daemon.report(session, {
      state: "failed",
      failure: { code: "IMAGE_NOT_FOUND", detail: "no image nope" },
    });
    expect(await created).toMatchObject({
      status: 422,
      body: { code: "IMAGE_NOT_FOUND", detail: "no image nope" },
    });
    expect(await sessionNow(session)).toMatchObject({ status: "failed", error: { code: "IMAGE_NOT_FOUND" } });
  });

  it("that takes too long fails, and the host is told to stop it", async () => {
    daemon.obliging = false;
    const created = client.call<Problem>("POST", "/v1/sessions", {});
    const { session } = await daemon.waitFor("command");
    await later(session, 121_000);
    expect(await created).toMatchObject({ status: 502, body: { code: "SESSION_START_FAILED" } });
    await daemon.waitFor("command", ({ command }) => command.type === "session.stop");
  });

  it("survives a reset of the session object", async () => {
    daemon.obliging = false;
    const created = client.call<Session>("POST", "/v1/sessions", {});
    const { session } = await daemon.waitFor("command");
    await runInDurableObject(stubOf(session), (_, ctx) => ctx.abort("test")).catch(() => undefined);
    daemon.ready(session);
    expect(await created).toMatchObject({ status: 201, body: { id: session, status: "ready" } });
  });

  it("is limited per tenant", async () => {
    const fleet = bindings.FLEET.getByName("fleet");
    await runInDurableObject(fleet, (instance) => {
      const object = instance as unknown as { env: Record<string, unknown> };
      object.env = { ...object.env, MAX_SESSIONS_PER_TENANT: "2" };
    });
    const few = await Client.of("few");
    await few.session();
    const second = await few.session();
    expect(await few.call("POST", "/v1/sessions", {})).toMatchObject({
      status: 429,
      body: { code: "SESSION_LIMIT" },
    });
    await few.call("DELETE", `/v1/sessions/${second.id}`);
    expect((await few.call("POST", "/v1/sessions", {})).status).toBe(201);
    await runInDurableObject(fleet, (instance) => {
      const object = instance as unknown as { env: Record<string, unknown> };
      object.env = { ...object.env, MAX_SESSIONS_PER_TENANT: "0" };
    });
  });

  it("that was cut off after its reservation gives the place back, and no living session loses its own", async () => {
    const fleet = bindings.FLEET.getByName("fleet");
    const orphans = await Client.of("orphans");
    const living = await orphans.session();
    const need = {
      runtime: "python",
      image: null,
      engine: "any",
      capabilities: [],
      memory_mb: null,
      shares: { sessions: null, memory_mb: null, cpus: null },
    } as const;
    const place = { ...need, tenant: "orphans", host: null };
    const fresh = newId("ses");
    await fleet.reserve({ ...place, session: fresh });
    await fleet.reserve({ ...place, session: `ses_0000000000${fresh.slice(-16)}` });
    await fleet.prune();
    const kept = (await fleet.sessionsOn(daemon.host)).filter(({ tenant }) => tenant === "orphans");
    expect(kept.map(({ session }) => session).toSorted()).toEqual([living.id, fresh].toSorted());
    await fleet.release(fresh);
  });

  it("fills in the host's own default limits", async () => {
    daemon.send({
      t: "capacity",
      capacity: { ...daemon.capacity, default_limits: { memory_mb: 300, pids: 99 } },
    });
    const session = await until(async () => {
      const made = await client.session({ limits: { cpus: 2 } });
      return made.limits.pids === 99 && made;
    });
    expect(session.limits).toEqual({ memory_mb: 300, cpus: 2, pids: 99, tmpfs_mb: 150, timeout_s: 30 });
  });
});

describe("a session", () => {
  it("stops when it was idle for its time, but not while code runs", async () => {
    const { id } = await client.session({ idle_ttl_s: 60 });
    daemon.onRun = () => {};
    await client.submit(id, "long");
    await until(() => daemon.runs().length > 0);
    await later(id, 61_000);
    expect((await sessionNow(id)).status).toBe("busy");
    const idle = await client.session({ idle_ttl_s: 60 });
    await later(idle.id, 59_000);
    expect((await sessionNow(idle.id)).status).toBe("ready");
    await later(idle.id, 2_000);
    await until(async () => (await sessionNow(idle.id)).status === "stopped");
  });

  it("is not kept by who only looks, but by whoever does something", async () => {
    const { id } = await client.session({ idle_ttl_s: 60 });
    const asked = async (method: string, path: string, body?: unknown) => {
      const before = daemon.frames.length;
      const answer = client.call(method, `/v1/sessions/${id}${path}`, body);
      const call = await until(() => daemon.frames.slice(before).find((frame) => frame.t === "call"));
      daemon.send({ t: "answer", id: call.id, failure: { code: "NOT_FOUND", detail: "nothing" } });
      await answer;
    };
    const used = async () => Date.parse((await sessionNow(id)).last_used_at);
    await later(id, 50_000);
    const before = await used();
    for (const path of ["/files/list?path=.", "/files/stat?path=a", "/state", "/processes", "/ports"])
      await asked("GET", path);
    expect(await used()).toBe(before);
    await asked("POST", "/files/mkdir", { path: "a" });
    expect(await used()).toBeGreaterThan(before + 40_000);
  });

  it("stops at its maximum lifetime even when it is busy", async () => {
    const { id } = await client.session({ max_lifetime_s: 60 });
    daemon.onRun = () => {};
    const { body } = await client.submit(id, "long");
    await until(() => daemon.runs().length > 0);
    await later(id, 61_000);
    await until(async () => (await sessionNow(id)).status === "stopped");
    const execution = await client.call<Execution>("GET", `/v1/sessions/${id}/executions/${body.id}`);
    expect(execution.body).toMatchObject({ status: "interrupted", error: { name: "SESSION_STOPPED" } });
  });

  it("whose container died ends everything that was on its way", async () => {
    const { id } = await client.session();
    daemon.onRun = () => {};
    const running = await client.submit(id, "a");
    const waiting = await client.submit(id, "b");
    daemon.report(id, { state: "died", error: { name: "CONTAINER_DIED", value: "killed", traceback: "" } });
    await daemon.waitFor("session.ack");
    for (const { body } of [running, waiting]) {
      const now = await client.call<Execution>("GET", `/v1/sessions/${id}/executions/${body.id}`);
      expect(now.body).toMatchObject({
        status: "died",
        error: { name: "CONTAINER_DIED", value: "killed" },
        state: { variables: "lost", files: "lost" },
      });
    }
  });

  it("is listed by key, status and label, newest first, page by page", async () => {
    const lister = await Client.of("lister");
    const made = [];
    for (const labels of [{ team: "a" }, { team: "b" }, { team: "a", odd: "x:y" }])
      made.push(await lister.session({ labels, key: `k${made.length}` }));
    const ids = async (query: string) =>
      (await lister.call<{ data: Session[] }>("GET", `/v1/sessions?${query}`)).body.data.map(({ id }) => id);
    expect(await ids("")).toEqual(made.map(({ id }) => id).reverse());
    expect(await ids("key=k1")).toEqual([made[1]!.id]);
    expect(await ids("label=team:a")).toEqual([made[2]!.id, made[0]!.id]);
    expect(await ids("label=team%3Db")).toEqual([made[1]!.id]);
    expect(await ids("label=odd:x:y")).toEqual([made[2]!.id]);
    await lister.call("DELETE", `/v1/sessions/${made[0]!.id}`);
    expect(await ids("status=stopped")).toEqual([made[0]!.id]);
    expect(await ids("status=ready")).toEqual([made[2]!.id, made[1]!.id]);
    expect(await ids("status=busy")).toEqual([]);
    const first = await lister.call<{ data: Session[]; next_cursor: string }>("GET", "/v1/sessions?limit=2");
    expect(first.body.data).toHaveLength(2);
    const second = await lister.call<{ data: Session[]; next_cursor: null }>(
      "GET",
      `/v1/sessions?limit=2&cursor=${first.body.next_cursor}`,
    );
    expect(second.body).toMatchObject({ data: [{ id: made[0]!.id }], next_cursor: null });
  });

  it("counts in its tenant's usage", async () => {
    const user = await Client.of("user");
    const { id } = await user.session();
    await user.execute(id, "1");
    await user.execute(id, "2");
    await user.call("DELETE", `/v1/sessions/${id}`);
    const usage = await user.call<{ sessions: number; executions: number; seconds: number }>(
      "GET",
      "/v1/usage",
    );
    expect(usage.body).toMatchObject({ tenant: "user", sessions: 1, executions: 2, seconds: 0.01 });
  });

  it("whose change D1 did not take is written there by the alarm", async () => {
    const { id } = await client.session();
    await runInDurableObject(stubOf(id), (instance) => {
      const object = instance as unknown as { env: Record<string, unknown> };
      Object.assign(object.env, {
        ORIGINAL: object.env.DB,
        DB: {
          prepare: () => {
            throw new Error("D1 is away");
          },
        },
      });
    });
    await client.call("DELETE", `/v1/sessions/${id}`);
    expect((await sessionNow(id)).status).toBe("stopped");
    await runInDurableObject(stubOf(id), (instance) => {
      const object = instance as unknown as { env: Record<string, unknown> };
      object.env.DB = object.env.ORIGINAL;
    });
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    expect((await list("?status=stopped")).data.some((session) => session.id === id)).toBe(true);
  });
});

describe("the executions of a session", () => {
  it("are listed newest first, page by page, in answers of a bounded size", async () => {
    const { id } = await client.session();
    const made: string[] = [];
    for (let i = 0; i < 3; i++) made.unshift((await client.execute(id, `cell ${i}`)).body.id);
    const read = async (query: string) =>
      (
        await client.call<{ data: Execution[]; next_cursor: string | null }>(
          "GET",
          `/v1/sessions/${id}/executions${query}`,
        )
      ).body;
    const first = await read("?limit=2");
    expect(first.data.map((execution) => execution.id)).toEqual(made.slice(0, 2));
    const second = await read(`?limit=2&cursor=${first.next_cursor}`);
    expect(second).toMatchObject({ data: [{ id: made[2], stdout: "cell 0" }], next_cursor: null });
    daemon.onRun = (run) => {
      const data = { "image/png": "i".repeat(900_000) };
      for (let seq = 1; seq <= 4; seq++) daemon.events(id, run.execution, [{ type: "result", seq, data }]);
      daemon.events(id, run.execution, [], outcome({ last_seq: 4 }));
    };
    for (let i = 0; i < 2; i++) await client.execute(id, "large");
    const large = await read("");
    expect(large.data).toHaveLength(1);
    expect((await read(`?cursor=${large.next_cursor}`)).data.length).toBeGreaterThan(0);
  });
});

describe("a session that is stopped while it is created", () => {
  it("answers its creator that it has ended", async () => {
    daemon.obliging = false;
    const created = client.call<Problem>("POST", "/v1/sessions", {});
    const { session } = await daemon.waitFor("command");
    const deleted = client.call("DELETE", `/v1/sessions/${session}`);
    await daemon.waitFor("command", ({ command }) => command.type === "session.stop");
    daemon.report(session, { state: "stopped" });
    expect((await deleted).status).toBe(204);
    expect(await created).toMatchObject({ status: 410, body: { code: "SESSION_ENDED" } });
  });
});
