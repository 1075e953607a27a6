import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import {
  CLOSE,
  type Execution,
  FRAME_LIMIT_BYTES,
  type Host,
  PROTOCOL_VERSION,
  type Session,
} from "@sandbar/shared";
import { generateKeyPair } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { bindings, Client } from "./client.ts";
import { echo, type FakeDaemon, onlyHost, outcome, printed, until } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
let operator: Client;
beforeEach(async () => {
  daemon = await onlyHost();
  client = await Client.of("acme");
  operator = await Client.of("ops", ["operator"]);
});

const hostStub = () => bindings.HOSTS.getByName(daemon.host);
const hostNow = async () => (await operator.call<Host>("GET", `/v1/hosts/${daemon.host}`)).body;
const sessionNow = async (id: string) => (await client.call<Session>("GET", `/v1/sessions/${id}`)).body;
const executionNow = async (session: string, id: string) =>
  (await client.call<Execution>("GET", `/v1/sessions/${session}/executions/${id}`)).body;

describe("a command", () => {
  it("that is dispatched again while it waits uses up no number", async () => {
    const { id: session } = await client.session();
    daemon.acknowledges = false;
    daemon.onRun = () => {};
    const { body: first } = await client.submit(session, "first");
    await until(() => daemon.runs(first.id).length > 0);
    const command = daemon.runs(first.id)[0]!.command;
    for (let i = 0; i < 3; i++)
      await hostStub().dispatch({
        session,
        tenant: "acme",
        dedupe: `run:${first.id}`,
        command,
        refusable: false,
      });
    const { body: second } = await client.submit(session, "second", { language: "bash" });
    await until(() => daemon.runs(second.id).length > 0);
    expect(daemon.runs(first.id)).toHaveLength(1);
    expect(daemon.runs(second.id)[0]!.n).toBe(daemon.runs(first.id)[0]!.n + 1);
  });
});

describe("a connection", () => {
  it("with a proof by another key is refused", async () => {
    const { privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519" });
    const thief = daemon.twin();
    await thief.connect(privateKey);
    expect(thief.closed?.code).toBe(CLOSE.unauthorized);
    expect(daemon.closed).toBeNull();
  });

  it("supersedes the older one: the newest daemon wins", async () => {
    const { id } = await client.session();
    daemon.onRun = () => {};
    const { body } = await client.submit(id, "cell");
    await until(() => daemon.runs(body.id).length > 0);
    const newer = await daemon.twin().connect();
    expect(newer.epoch).toBe(daemon.epoch + 1);
    await until(() => daemon.closed);
    expect(daemon.closed?.code).toBe(CLOSE.superseded);
    newer.events(id, body.id, printed("new"), outcome({ last_seq: 2 }));
    await newer.waitFor("ack", ({ final }) => final);
    expect(await executionNow(id, body.id)).toMatchObject({ status: "ok", stdout: "new" });
  });

  it("of a daemon that has one already replaces it, and nobody is told to go", async () => {
    const { id } = await client.session();
    await daemon.connect();
    const { code } = await until(() => daemon.closed);
    expect(code).not.toBe(CLOSE.superseded);
    expect((await client.execute(id, "cell")).body).toMatchObject({ status: "ok", stdout: "cell" });
  });

  it("that sends something else than frames is closed", async () => {
    daemon.sendRaw('{"t":"nonsense"}');
    await until(() => daemon.closed);
    expect(daemon.closed?.code).toBe(CLOSE.protocol);
  });

  it("of a daemon that speaks the version before serves as ever; any other is told what is spoken here", async () => {
    const older = daemon.twin();
    older.version = PROTOCOL_VERSION - 1;
    older.onRun = echo(older);
    await older.connect();
    expect(older.closed).toBeNull();
    const { id } = await client.session();
    expect((await client.execute(id, "cell")).body).toMatchObject({ status: "ok", stdout: "cell" });
    for (const version of [PROTOCOL_VERSION - 2, PROTOCOL_VERSION + 1]) {
      const stranger = daemon.twin();
      stranger.version = version;
      await stranger.connect();
      expect(stranger.closed).toEqual({
        code: CLOSE.protocol,
        reason: expect.stringContaining(`${PROTOCOL_VERSION - 1} and ${PROTOCOL_VERSION}`),
      });
    }
    expect((await client.execute(id, "again")).body).toMatchObject({ status: "ok", stdout: "again" });
  });

  it("outlives a frame that cannot be read when it names whom it concerns", async () => {
    const { id: other } = await client.session();
    const { id } = await client.session();
    daemon.onRun = () => {};
    const { body: first } = await client.submit(id, "one");
    await until(() => daemon.runs(first.id).length > 0);
    const huge = "x".repeat(FRAME_LIMIT_BYTES);
    const asked = client.call("GET", `/v1/sessions/${id}/state`);
    const { id: call } = await daemon.waitFor("call", ({ method }) => method === "state");
    daemon.send({ t: "answer", id: call, result: huge });
    expect((await asked).body).toMatchObject({ code: "HOST_ERROR" });

    daemon.events(id, first.id, printed(huge));
    daemon.sendRaw(
      JSON.stringify({
        t: "report",
        session: id,
        execution: first.id,
        events: [],
        outcome: { status: "new" },
      }),
    );
    await daemon.waitFor("ack", ({ execution, final }) => final && execution === first.id);
    expect(await executionNow(id, first.id)).toMatchObject({
      status: "unknown",
      error: { name: "OUTCOME_UNKNOWN" },
    });

    daemon.sendRaw(
      JSON.stringify({ t: "session", session: id, report: { state: "failed", failure: { code: "NEW" } } }),
    );
    await daemon.waitFor("session.ack", ({ session }) => session === id);
    expect(await sessionNow(id)).toMatchObject({ status: "failed" });
    expect(daemon.closed).toBeNull();
    daemon.onRun = echo(daemon);
    expect((await client.execute(other, "cell")).body).toMatchObject({ status: "ok" });
  });

  it("outlives a session whose object cannot be reached, which hears everything when it can be", async () => {
    const { id: other } = await client.session();
    const { id } = await client.session();
    daemon.onRun = () => {};
    const { body } = await client.submit(id, "cell");
    await until(() => daemon.runs(body.id).length > 0);
    daemon.onRun = echo(daemon);
    const real = bindings.SESSIONS;
    let failures = 0;
    const report = async () => {
      failures++;
      throw new Error("Durable Object exceeded its memory limit and was reset.");
    };
    const getByName = (name: string) => (name === `acme/${id}` ? { report } : real.getByName(name));
    Object.assign(bindings, { SESSIONS: { getByName } });
    try {
      daemon.events(id, body.id, printed("heard"), outcome({ last_seq: 2 }));
      // More than one call is repeated.
      await until(() => failures > 6);
      expect((await client.execute(other, "cell")).body).toMatchObject({ status: "ok" });
    } finally {
      Object.assign(bindings, { SESSIONS: real });
    }
    await daemon.waitFor("ack", ({ execution, final }) => final && execution === body.id);
    expect(await executionNow(id, body.id)).toMatchObject({ status: "ok", stdout: "heard" });
    expect(daemon.closed).toBeNull();
  });

  it("opens also when the state of one of its sessions cannot be read", async () => {
    const { id } = await client.session();
    daemon.disconnect();
    const again = daemon.twin();
    again.sessions.set(id, { state: "ready", languages: ["python", "new"], image: "x" } as never);
    await again.connect();
    expect(again.closed).toBeNull();
    expect((await sessionNow(id)).status).toBe("ready");
  });

  it("of an unknown host is told so, and leaves no object behind", async () => {
    const stranger = daemon.twin();
    (stranger as { host: string }).host = "hst_00000000000000000000000000";
    await stranger.connect();
    expect(stranger.closed?.code).toBe(CLOSE.removed);
    const made = (await listDurableObjectIds(bindings.HOSTS)).map(String);
    expect(made).toContain(String(bindings.HOSTS.idFromName(daemon.host)));
    expect(made).not.toContain(String(bindings.HOSTS.idFromName(stranger.host)));
  });

  it("of a removed host is closed, its sessions are lost, and it cannot come back", async () => {
    const { id } = await client.session();
    expect((await operator.call("DELETE", `/v1/hosts/${daemon.host}`)).status).toBe(204);
    await until(() => daemon.closed);
    expect(daemon.closed?.code).toBe(CLOSE.removed);
    expect((await sessionNow(id)).status).toBe("lost");
    await daemon.connect();
    expect(daemon.closed).toMatchObject({ code: CLOSE.removed });
    expect((await operator.call("GET", `/v1/hosts/${daemon.host}`)).status).toBe(404);
  });

  it("gets every unacknowledged command again, in order, after it was cut", async () => {
    const { id } = await client.session();
    daemon.acknowledges = false;
    daemon.onRun = () => {};
    const first = await client.submit(id, "one");
    await client.call("POST", `/v1/sessions/${id}/contexts`, { name: "other", language: "bash" });
    await until(() => daemon.commands.some(({ command }) => command.type === "context.open"));
    daemon.disconnect();
    const again = daemon.twin();
    await again.connect();
    await until(() => again.commands.length >= 2);
    expect(again.commands.map(({ command }) => command.type)).toEqual(["run", "context.open"]);
    expect(again.commands[0]!.n).toBeLessThan(again.commands[1]!.n);
    expect(again.runs(first.body.id)).toHaveLength(1);
  });

  it("is told to stop sessions that nobody knows", async () => {
    daemon.disconnect();
    const again = daemon.twin();
    const stray = "ses_00000000000000000000000000";
    again.sessions.set(stray, { state: "ready", languages: ["python"], image: "x" });
    await again.connect();
    const stop = await again.waitFor("command", ({ session }) => session === stray);
    expect(stop.command.type).toBe("session.stop");
    await again.waitFor("session.ack", ({ session }) => session === stray);
  });

  it("that no longer names a session makes that session fail as CONTAINER_DIED", async () => {
    const { id } = await client.session();
    daemon.onRun = () => {};
    const { body } = await client.submit(id, "cell");
    daemon.disconnect();
    const again = daemon.twin();
    again.sessions.clear();
    await again.connect();
    const session = await until(async () => {
      const now = await sessionNow(id);
      return now.status === "failed" && now;
    });
    expect(session.error?.code).toBe("CONTAINER_DIED");
    expect(await executionNow(id, body.id)).toMatchObject({
      status: "died",
      error: { name: "CONTAINER_DIED" },
    });
  });

  it("must be a WebSocket to a well-formed host id", async () => {
    expect((await client.fetch(`/agent/link/${daemon.host}`)).status).toBe(400);
    expect((await client.fetch("/agent/link/..%2f..", { headers: { Upgrade: "websocket" } })).status).toBe(
      404,
    );
  });
});

describe("a lease", () => {
  /** Silence of tests is short: the object is told other times. */
  const shorten = (unreachable: number, lost: number) =>
    runInDurableObject(hostStub(), (instance) => {
      const object = instance as unknown as { env: Record<string, unknown> };
      object.env = {
        ...object.env,
        HEARTBEAT_MS: "5",
        UNREACHABLE_MS: String(unreachable),
        LOST_MS: String(lost),
      };
    });
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const ring = async () => {
    await runInDurableObject(hostStub(), (_, ctx) => ctx.storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(hostStub());
  };

  it("that is silent makes the host unreachable, and new executions are refused until it is back", async () => {
    const { id } = await client.session();
    daemon.disconnect();
    await pause(20);
    await shorten(10, 100_000);
    await ring();
    expect((await hostNow()).status).toBe("unreachable");
    const refused = await client.execute(id, "1");
    expect(refused).toMatchObject({ status: 503, body: { code: "HOST_UNREACHABLE", retryable: true } });
    expect(refused.headers.get("Retry-After")).toBe("5");
    const placed = await client.call("POST", "/v1/sessions", {});
    expect(placed).toMatchObject({ status: 503, body: { code: "NO_HOST_AVAILABLE" } });
    await shorten(45_000, 300_000);
    await daemon.connect();
    expect((await hostNow()).status).toBe("online");
    expect((await client.execute(id, "2")).body).toMatchObject({ status: "ok", stdout: "2" });
  });

  it("that runs out loses the sessions; what was sent is unknown, what was not did not run", async () => {
    const { id } = await client.session({ key: "mine" });
    daemon.onRun = () => {};
    const sent = await client.submit(id, "sent");
    await until(() => daemon.runs(sent.body.id).length > 0);
    const queued = await client.submit(id, "queued");
    daemon.disconnect();
    await until(() => runInDurableObject(hostStub(), (_, ctx) => ctx.getWebSockets().length === 0));
    const unsent = await client.submit(id, "unsent", { language: "bash" });
    await pause(20);
    await shorten(5, 10);
    await ring();
    expect((await hostNow()).status).toBe("lost");
    expect((await sessionNow(id)).status).toBe("lost");
    expect(await executionNow(id, sent.body.id)).toMatchObject({
      status: "unknown",
      error: { name: "OUTCOME_UNKNOWN" },
    });
    expect(await executionNow(id, queued.body.id)).toMatchObject({
      status: "died",
      error: { name: "HOST_LOST" },
    });
    expect(await executionNow(id, unsent.body.id)).toMatchObject({
      status: "died",
      error: { name: "HOST_LOST" },
    });

    // It comes back after all, with the session and the outcome: too late for both.
    await shorten(45_000, 300_000);
    daemon.commands.length = 0;
    daemon.frames.length = 0;
    await daemon.connect();
    await daemon.waitFor(
      "command",
      ({ session, command }) => session === id && command.type === "session.stop",
    );
    expect(daemon.runs()).toHaveLength(0);
    daemon.events(id, sent.body.id, printed("late"), outcome({ last_seq: 2 }));
    await daemon.waitFor("ack", ({ final }) => final);
    expect((await executionNow(id, sent.body.id)).status).toBe("unknown");
    expect((await client.session({ key: "mine" })).id).not.toBe(id);
  });
});

describe("joining", () => {
  const join = (token: string, x = "a".repeat(43)) =>
    client.call<{ host_id: string; code: string }>("POST", "/agent/join", {
      token,
      name: "h",
      public_key: { kty: "OKP", crv: "Ed25519", x },
    });

  it("takes a token once; the same key may ask again when its answer was lost", async () => {
    const { body } = await operator.call<{ token: string }>("POST", "/v1/hosts/enrollments");
    const first = await join(body.token);
    expect(first.status).toBe(201);
    expect((await join(body.token)).body.host_id).toBe(first.body.host_id);
    expect(await join(body.token, "b".repeat(43))).toMatchObject({
      status: 401,
      body: { code: "ENROLLMENT_INVALID" },
    });
    expect(await join("sbe_nonsense")).toMatchObject({ status: 401, body: { code: "ENROLLMENT_INVALID" } });
  });

  it("needs the scope operator to make a token", async () => {
    expect((await client.call("POST", "/v1/hosts/enrollments")).status).toBe(403);
  });
});

describe("an operator", () => {
  it("cordons a host, so that nothing new is placed there, and drains it", async () => {
    const { id } = await client.session();
    expect((await operator.call<Host>("POST", `/v1/hosts/${daemon.host}/cordon`)).body.cordoned).toBe(true);
    expect((await client.call("POST", "/v1/sessions", {})).status).toBe(503);
    expect((await client.execute(id, "still here")).status).toBe(200);
    expect((await operator.call("POST", `/v1/hosts/${daemon.host}/drain`)).status).toBe(202);
    await until(async () => (await sessionNow(id)).status === "stopped");
    expect((await operator.call<Host>("POST", `/v1/hosts/${daemon.host}/uncordon`)).body).toMatchObject({
      cordoned: false,
      drain: null,
      sessions: 0,
    });
  });

  it("sees from anywhere how far a drain is, which goes on when whoever began it was cut off", async () => {
    const { id: first } = await client.session();
    const { id: second } = await client.session();
    daemon.obliging = false;
    const { body } = await operator.call<Host>("POST", `/v1/hosts/${daemon.host}/drain`);
    expect(body.drain).toMatchObject({ state: "draining", sessions: 2, left: 2 });
    await daemon.waitFor("command", ({ session }) => session === first);
    daemon.report(first, { state: "stopped" });
    await until(async () => (await hostNow()).drain?.left === 1);
    daemon.report(second, { state: "stopped" });
    await until(async () => (await hostNow()).drain?.state === "drained");
    expect((await hostNow()).drain).toMatchObject({ sessions: 2, left: 0 });

    await operator.call("POST", `/v1/hosts/${daemon.host}/uncordon`);
    daemon.obliging = true;
    const { id } = await client.session();
    // The fleet has written the drain down, and then nobody told the sessions.
    await bindings.FLEET.getByName("fleet").drain(daemon.host);
    expect((await sessionNow(id)).status).toBe("ready");
    await bindings.FLEET.getByName("fleet").prune();
    await until(async () => (await sessionNow(id)).status === "stopped");
  });
});
