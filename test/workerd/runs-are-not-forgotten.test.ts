import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import type { Execution } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import type { Dispatch } from "../../worker/src/host/object.ts";
import { bindings, Client } from "./client.ts";
import { echo, type FakeDaemon, onlyHost, outcome, printed, until } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
let session: string;
beforeEach(async () => {
  daemon = await onlyHost();
  client = await Client.of("acme");
  session = (await client.session()).id;
});

const sessionStub = () => bindings.SESSIONS.getByName(`acme/${session}`);
const hostStub = () => bindings.HOSTS.getByName(daemon.host);
const executionNow = async (id: string) =>
  (await client.call<Execution>("GET", `/v1/sessions/${session}/executions/${id}`)).body;
const unlinked = () =>
  until(() =>
    runInDurableObject(
      hostStub(),
      (_, ctx) => ctx.storage.kv.get<{ connected: boolean }>("host")?.connected === false,
    ),
  );

describe("a question that changes something", () => {
  it.each([
    ["DELETE", "/files?path=a", undefined, "files.remove"],
    ["POST", "/files/move", { from: "a", to: "b" }, "files.move"],
    ["GET", "/ports/8000/", undefined, "ports.request"],
  ])("has the same name when it is asked again: %s %s", async (verb, path, body, method) => {
    const asked = client.call(verb, `/v1/sessions/${session}${path}`, body);
    await daemon.waitFor("call", (call) => call.method === method);
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.abort("reset")).catch(() => {});
    const calls = () => daemon.frames.filter((frame) => frame.t === "call" && frame.method === method);
    const [first, second] = (await until(() => calls().length > 1 && calls())) as {
      params: { once?: string };
    }[];
    expect(first!.params.once).toMatch(/^req_/);
    expect(second!.params.once).toBe(first!.params.once);
    for (const call of calls())
      daemon.send({
        t: "answer",
        id: (call as { id: string }).id,
        failure: { code: "NOT_FOUND", detail: "x" },
      });
    expect((await asked).status).toBe(404);
  });
});

describe("a run that was sent and has not spoken", () => {
  const loseHost = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await runInDurableObject(hostStub(), (instance) => {
      const object = instance as unknown as { env: Record<string, unknown> };
      object.env = { ...object.env, HEARTBEAT_MS: "5", UNREACHABLE_MS: "5", LOST_MS: "10" };
    });
    await runInDurableObject(hostStub(), (_, ctx) => ctx.storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(hostStub());
  };
  const redrive = async () => {
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(sessionStub());
  };
  const MAY_HAVE_STARTED = { status: "unknown", error: { name: "OUTCOME_UNKNOWN" } };

  it("is not said never to have started because it was sent again while nobody was there", async () => {
    daemon.onRun = () => {};
    const { body } = await client.submit(session, "cell");
    await until(() => daemon.ran.has(body.id));
    daemon.disconnect();
    await unlinked();
    await redrive();
    await loseHost();
    expect(await executionNow(body.id)).toMatchObject(MAY_HAVE_STARTED);
  });

  it("nor when the host's object had forgotten it", async () => {
    daemon.onRun = () => {};
    daemon.acknowledges = false;
    const { body } = await client.submit(session, "cell");
    await until(() => daemon.ran.has(body.id));
    daemon.disconnect();
    await unlinked();
    await evictDurableObject(hostStub(), { webSockets: "close" });
    await redrive();
    await loseHost();
    expect(await executionNow(body.id)).toMatchObject(MAY_HAVE_STARTED);
  });

  it("nor when it is offered once more in the answer to a repeated report", async () => {
    daemon.onRun = () => {};
    const { body: first } = await client.submit(session, "first");
    const { body: next } = await client.submit(session, "next");
    daemon.events(session, first.id, printed("x"), outcome({ last_seq: 2 }));
    await until(() => daemon.ran.has(next.id));
    const answer = await runInDurableObject(sessionStub(), (object) =>
      (object as unknown as { report(...args: unknown[]): unknown }).report(
        first.id,
        printed("x"),
        outcome({ last_seq: 2 }),
      ),
    );
    expect(answer).toMatchObject({ next: { command: { execution: next.id }, again: true } });
  });
});

describe("what follows a run", () => {
  it("does not overtake it, although the host's object is lost between the two", async () => {
    daemon.onRun = () => {};
    daemon.deaf = true;
    const { body } = await client.submit(session, "cell");
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.storage.deleteAlarm());
    // What the session says to the host arrives, and the host's object is lost after each word of it.
    const said: Dispatch[] = [];
    const real = bindings.HOSTS;
    const HOSTS = {
      getByName: () => ({ dispatch: async (dispatch: Dispatch) => said.push(dispatch) && { value: null } }),
    };
    Object.assign(bindings, { HOSTS });
    try {
      await sessionStub().interrupt(body.id);
    } finally {
      Object.assign(bindings, { HOSTS: real });
    }
    expect(said.at(-1)?.command.type).toBe("interrupt");
    for (const dispatch of said) {
      await hostStub().dispatch(dispatch);
      await evictDurableObject(hostStub(), { webSockets: "close" });
    }
    await until(() => daemon.closed);
    daemon.deaf = false;
    daemon.commands.length = 0;
    await daemon.connect();
    await until(
      () => daemon.ran.has(body.id) && daemon.commands.some(({ command }) => command.type === "interrupt"),
    );
    const order = daemon.commands.map(({ command }) => command.type);
    expect(order.indexOf("run")).toBeLessThan(order.indexOf("interrupt"));
  });
});

describe("a command for a daemon with an older journal", () => {
  it("reaches the one with the newer journal that takes its place before it had it", async () => {
    const older = daemon.twin();
    for (let cell = 0; cell < 5; cell++) await client.execute(session, "counted");
    await older.connect();
    older.deaf = true;
    await client.call("POST", `/v1/sessions/${session}/contexts/python/restart`);
    await until(() => older.frames.some((frame) => frame.t === "command"));
    daemon.commands.length = 0;
    await daemon.connect();
    await until(() => daemon.commands.some(({ command }) => command.type === "context.restart"));
    expect(daemon.gaps).toEqual([]);
  });

  it("is not carried out twice when it was acknowledged and the journal is older than that", async () => {
    const older = daemon.twin();
    await client.call("POST", `/v1/sessions/${session}/contexts/python/restart`);
    const restarts = (of: FakeDaemon) =>
      of.commands.filter(({ command }) => command.type === "context.restart");
    await until(() => restarts(daemon).length === 1);
    await client.execute(session, "acknowledged by now");
    await older.connect();
    older.onRun = (run, of) => older.events(of, run.execution, printed("x"), outcome({ last_seq: 2 }));
    expect((await client.execute(session, "after")).body.status).toBe("ok");
    expect(restarts(older)).toEqual([]);
    expect(older.gaps).toEqual([]);
  });
});

describe("a command for one of two daemons that took turns", () => {
  it("is not lost because the other has had another one of its number", async () => {
    const other = await daemon.twin().connect();
    other.onRun = echo(other);
    for (let cell = 0; cell < 5; cell++) await client.execute(session, "counted by the other");
    await daemon.connect();
    daemon.deaf = true;
    const restarts = ({ frames }: FakeDaemon) =>
      frames.filter((frame) => frame.t === "command" && frame.command.type === "context.restart");
    for (let n = 0; n < 7; n++) await client.call("POST", `/v1/sessions/${session}/contexts/python/restart`);
    await until(() => restarts(daemon).length === 7);
    await other.connect();
    await until(() => restarts(other).length === 7);
    expect(other.gaps).toEqual([]);
  });
});

describe("a run that could not be handed over", () => {
  it("is tried again soon, however far away the session's next alarm is", async () => {
    daemon.onRun = () => {};
    // Nothing is open, so the next alarm is the end of the session's idle time.
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(sessionStub());
    const real = bindings.HOSTS;
    const away = async () => {
      throw new Error("overloaded");
    };
    Object.assign(bindings, { HOSTS: { getByName: () => ({ dispatch: away, isReachable: away }) } });
    try {
      await client.submit(session, "cell");
    } finally {
      Object.assign(bindings, { HOSTS: real });
    }
    const alarm = await runInDurableObject(sessionStub(), (_, ctx) => ctx.storage.getAlarm());
    expect(alarm! - Date.now()).toBeLessThan(60_000);
  });
});
