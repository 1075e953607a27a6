import { runInDurableObject } from "cloudflare:test";
import type { Artifact, ExecutionNews, Host, HostNews, Problem, Scope, Session } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { tenantObject } from "../../worker/src/rpc.ts";
import { bindings, Client, readSse, type SseMessage } from "./client.ts";
import { FakeDaemon, onlyHost, outcome, printed, until } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let tenant: string;
let client: Client;
let tenants = 0;
beforeEach(async () => {
  daemon = await onlyHost();
  tenant = `watched-${++tenants}`;
  client = await Client.of(tenant);
});

const open = (after?: string, who = client) =>
  who.fetch("/v1/events", after === undefined ? {} : { headers: { "Last-Event-ID": after } });

/** From the oldest, until these have come. */
async function eventsUntil(enough: (messages: SseMessage[]) => boolean, after = "0", who = client) {
  return readSse(await open(after, who), enough);
}

const news = (messages: SseMessage[]) =>
  messages.filter(({ event }) => event === "execution").map(({ data }) => data as ExecutionNews);
const ended = (messages: SseMessage[]) => news(messages).filter(({ state }) => state === "ended");
const states = (messages: SseMessage[]) =>
  messages.filter(({ event }) => event === "session").map(({ data }) => (data as Session).status);

const reload = (session: string) =>
  runInDurableObject(bindings.SESSIONS.getByName(`${tenant}/${session}`), (_, ctx) =>
    ctx.abort("test"),
  ).catch(() => undefined);

const artifact = (session: string, size: number): Artifact => ({
  id: "art_1",
  session_id: session,
  execution_id: null,
  name: "a.txt",
  size,
  mime: "text/plain",
  sha256: "0".repeat(64),
  created_at: new Date().toISOString(),
  url: "",
});

describe("what happens in a tenant", () => {
  it("is told to whoever watches, in order, and resumes after every event", async () => {
    const watching = await open();
    const { id } = await client.session();
    daemon.onRun = (run) =>
      daemon.events(
        id,
        run.execution,
        printed("hi"),
        outcome({ last_seq: 2, artifacts: [{ ...artifact(id, 7), execution_id: run.execution }] }),
      );
    const { body } = await client.execute(id, `hi${"!".repeat(300)}`);
    await client.call("DELETE", `/v1/sessions/${id}`);
    const live = await readSse(watching, (seen) => states(seen).includes("stopped"));
    expect(live[0]).toMatchObject({ event: "hello", data: {} });
    const told = live.slice(1);
    expect(states(told).at(-1)).toBe("stopped");
    expect((told.find(({ event }) => event === "session")!.data as Session).id).toBe(id);
    expect(ended(told)).toEqual([
      {
        session: id,
        execution: body.id,
        context: "python",
        language: "python",
        state: "ended",
        status: "ok",
        error_code: null,
        code: `hi${"!".repeat(198)}`,
        created_at: body.queued_at,
        ended_at: body.finished_at,
        duration_ms: 5,
      },
    ]);
    const made = told.findIndex(({ event }) => event === "artifact");
    expect((told[made]!.data as Artifact).url).toContain("/artifacts/art_1?token=");
    expect(made).toBeLessThan(told.findIndex(({ data }) => (data as ExecutionNews).state === "ended"));
    for (let from = 0; from < told.length; from++) {
      const rest = await eventsUntil((seen) => states(seen).includes("stopped"), live[from]!.cursor);
      const plain = (messages: SseMessage[]) =>
        messages.map(({ cursor, event, data }) => [cursor, event, { ...(data as object), url: "" }]);
      expect(plain(rest.slice(1))).toEqual(plain(told.slice(from)));
    }
  });

  it("has an execution twice when it takes its time, and what became of it by code", async () => {
    const { id } = await client.session();
    daemon.onRun = () => {};
    const first = (await client.submit(id, "first")).body.id;
    const second = (await client.submit(id, "second")).body.id;
    const begun = await eventsUntil((seen) => news(seen).length >= 2);
    expect(news(begun).map(({ execution, state, status }) => [execution, state, status])).toEqual([
      [first, "started", "running"],
      [second, "started", "queued"],
    ]);
    expect(states(begun).at(-1)).toBe("busy");
    const timeout = { name: "EXECUTION_TIMEOUT", value: "", traceback: "" };
    daemon.events(
      id,
      first,
      [{ type: "started", seq: 1 }],
      outcome({ last_seq: 1, status: "timeout", error: timeout }),
    );
    await until(() => daemon.runs(second)[0]);
    daemon.events(
      id,
      second,
      [
        { type: "started", seq: 1 },
        { type: "error", seq: 2, name: "KERNEL_DIED", value: "not really", traceback: "" },
      ],
      outcome({ last_seq: 2, status: "error" }),
    );
    const over = await eventsUntil((seen) => ended(seen).length >= 2);
    expect(ended(over).map(({ execution, status, error_code }) => [execution, status, error_code])).toEqual([
      [first, "timeout", "EXECUTION_TIMEOUT"],
      [second, "error", "EXECUTION_ERROR"],
    ]);
  });

  it("is not lost when the session's object is reset before it could tell", async () => {
    const { id } = await client.session();
    await eventsUntil((seen) => states(seen).includes("ready"));
    daemon.onRun = () => {};
    const running = (await client.submit(id, "long")).body.id;
    await eventsUntil((seen) => news(seen).length === 1);
    daemon.onRun = (run) => daemon.events(id, run.execution, printed(), outcome({ last_seq: 1 }));
    daemon.events(id, running, printed(), outcome({ last_seq: 1 }));
    const more: string[] = [];
    for (let i = 0; i < 5; i++) more.push((await client.execute(id, `cell ${i}`)).body.id);
    await reload(id);
    await client.call("GET", `/v1/sessions/${id}`);
    const seen = await eventsUntil((messages) => ended(messages).length >= 6);
    expect(ended(seen).map(({ execution }) => execution)).toEqual([running, ...more]);
    expect(ended(seen).map(({ code }) => code)).toContain("cell 3");
    // And once only, however often it is reset.
    await reload(id);
    await client.call("DELETE", `/v1/sessions/${id}`);
    await reload(id);
    const all = await eventsUntil((messages) => states(messages).includes("stopped"));
    expect(ended(all).map(({ execution }) => execution)).toEqual([running, ...more]);
    const { body } = await client.call<{ data: { executions: number }[] }>("GET", "/v1/usage/series");
    expect(body.data.reduce((sum, { executions }) => sum + executions, 0)).toBe(6);
  });

  it("goes on when the tenant's own object is reset", async () => {
    const { id } = await client.session();
    const before = await eventsUntil((seen) => states(seen).includes("ready"));
    await runInDurableObject(bindings.TENANTS.getByName(tenant), (_, ctx) => ctx.abort("test")).catch(
      () => {},
    );
    const { body } = await client.execute(id, "after");
    const rest = await eventsUntil((seen) => ended(seen).length === 1, before.at(-1)!.cursor);
    expect(ended(rest)[0]!.execution).toBe(body.id);
    expect(states(rest)).not.toContain("creating");
  });

  it("is another tenant's business only there", async () => {
    const other = await Client.of(`${tenant}-other`);
    const { id } = await client.session();
    const theirs = await other.session();
    await client.execute(id, "secret");
    await eventsUntil((seen) => ended(seen).length === 1);
    const seen = await eventsUntil((messages) => states(messages).includes("ready"), "0", other);
    expect(JSON.stringify(seen)).not.toContain(id);
    expect(JSON.stringify(seen)).toContain(theirs.id);
  });

  it("is kept within bounds: who comes back too late is told to read the lists again", async () => {
    const { id } = await client.session();
    const [, first] = await eventsUntil((seen) => states(seen).includes("ready"));
    const { data } = first!;
    const batch = {
      session: id,
      created_at: 0,
      status: "ready" as const,
      ordinal: 0,
      open: [],
      teller: "test",
    };
    const session = { type: "session" as const, data };
    const object = tenantObject(bindings, tenant);
    for (let n = 1; n <= 13; n++)
      await object.tell({ ...batch, n, news: Array.from({ length: 1000 }, () => session) });
    for (const stale of [first!.cursor, "0", "999999999"]) {
      const [hello, reset] = await eventsUntil((seen) => seen.length === 2, stale);
      expect([hello!.event, reset!.event]).toEqual(["hello", "reset"]);
      expect(reset!.id).toBeGreaterThan(13_000);
    }
    const recent = await eventsUntil((seen) => seen.length > 9_000, "3500");
    expect(recent.some(({ event }) => event === "reset")).toBe(false);
    await runInDurableObject(bindings.TENANTS.getByName(tenant), (_, { storage }) => {
      const { n } = storage.sql.exec<{ n: number }>("SELECT sum(last - first + 1) AS n FROM event_log").one();
      expect(n).toBeLessThan(11_100);
    });
  });

  it("is refused after ids that are none, and to too many readers", async () => {
    for (const id of ["x", "-1", "1.2.3", "1e3"]) {
      const answer = await open(id);
      expect([id, answer.status, (await answer.json<Problem>()).code]).toEqual([
        id,
        400,
        "VALIDATION_FAILED",
      ]);
    }
    const readers = await Promise.all(Array.from({ length: 64 }, () => open()));
    const refused = await open();
    expect([refused.status, (await refused.json<Problem>()).code]).toEqual([429, "RATE_LIMITED"]);
    await readers[0]!.body!.cancel();
    await until(async () => {
      const again = await open();
      await again.body?.cancel();
      return again.status === 200;
    });
    await Promise.all(readers.slice(1).map(({ body }) => body!.cancel()));
  });

  it("ends with the key", async () => {
    const admin = await Client.of(tenant, ["admin"]);
    const { body } = await admin.call<{ id: string; secret: string }>("POST", "/v1/keys", {
      name: "brief",
      scopes: ["agent"],
    });
    const watching = await open(undefined, new Client(body.secret));
    await admin.call("DELETE", `/v1/keys/${body.id}`);
    expect((await readSse(watching)).map(({ event }) => event)).toEqual(["hello"]);
  });
});

describe("what happens to hosts", () => {
  const as = (...scopes: Scope[]) => Client.of(tenant, scopes);
  const hosts = (messages: SseMessage[]) =>
    messages.filter(({ event }) => event === "host").map(({ data }) => data as HostNews);

  it("is told to operators, among the rest, and resumes with it", async () => {
    const admin = await as("admin");
    const watching = await open(undefined, admin);
    const { id } = await client.session();
    await admin.call<Host>("POST", `/v1/hosts/${daemon.host}/cordon`);
    const live = await readSse(
      watching,
      (seen) => states(seen).includes("ready") && hosts(seen).some(({ cordoned }) => cordoned),
    );
    expect(hosts(live).find(({ cordoned }) => cordoned)).toMatchObject({ id: daemon.host, sessions: 1 });
    await client.call("DELETE", `/v1/sessions/${id}`);
    const second = await (await FakeDaemon.join("second")).connect();
    const joined = (seen: SseMessage[]) =>
      hosts(seen).some(({ id, status }) => id === second.host && status === "online");
    await eventsUntil(joined, live.at(-1)!.cursor, admin);
    await admin.call("DELETE", `/v1/hosts/${second.host}`);
    const removed = (seen: SseMessage[]) =>
      hosts(seen).some((host) => host.id === second.host && host.removed);
    const rest = await eventsUntil(
      (seen) => removed(seen) && states(seen).includes("stopped"),
      live.at(-1)!.cursor,
      admin,
    );
    expect(states(rest)).not.toContain("creating");
    expect(rest.some(({ event }) => event === "reset")).toBe(false);
  });

  it("is all that an operator without the scope agent hears, and nothing that an agent does", async () => {
    const operator = await as("operator");
    const [both, only, agents] = await Promise.all([open(), open(undefined, operator), open("0")]);
    await both.body!.cancel();
    const { id } = await client.session();
    await operator.call("POST", `/v1/hosts/${daemon.host}/cordon`);
    const heard = await readSse(only, (seen) => hosts(seen).some(({ cordoned }) => cordoned));
    expect(new Set(heard.map(({ event }) => event))).toEqual(new Set(["hello", "host"]));
    expect(JSON.stringify(heard)).not.toContain(id);
    const seen = await readSse(agents, (messages) => states(messages).includes("ready"));
    expect(hosts(seen)).toEqual([]);
  });
});
