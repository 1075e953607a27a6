import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { Execution } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import type { SessionObject } from "../../worker/src/session/object.ts";
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

describe("an idempotency key", () => {
  it("runs the code once for 20 parallel requests, and all get the same record", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.execute(session, "once", { "Idempotency-Key": "k1" })),
    );
    expect(daemon.runs()).toHaveLength(1);
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toEqual(answers[0]!.body);
    }
  });

  it("answers with the same execution while it runs and after it ended", async () => {
    daemon.onRun = () => {};
    const headers = { "Idempotency-Key": "k2", Prefer: "respond-async" };
    const first = await client.execute(session, "slow", headers);
    const second = await client.execute(session, "slow", headers);
    expect(second.body.id).toBe(first.body.id);
    daemon.events(session, first.body.id, printed("x"), outcome({ last_seq: 2 }));
    const third = await client.execute(session, "slow", { "Idempotency-Key": "k2" });
    expect(third.body).toMatchObject({ id: first.body.id, status: "ok", stdout: "x" });
    expect(daemon.runs()).toHaveLength(1);
  });

  it("cannot be used for other code", async () => {
    await client.execute(session, "a", { "Idempotency-Key": "k3" });
    const other = await client.execute(session, "b", { "Idempotency-Key": "k3" });
    expect(other).toMatchObject({ status: 409, body: { code: "IDEMPOTENCY_CONFLICT" } });
  });
});

describe("reports", () => {
  let execution: string;
  beforeEach(async () => {
    daemon.onRun = () => {};
    execution = (await client.submit(session, "cell")).body.id;
    await until(() => daemon.runs(execution).length === 1);
  });
  const get = async () =>
    (await client.call<Execution>("GET", `/v1/sessions/${session}/executions/${execution}`)).body;

  it("are taken once when they come twice", async () => {
    const events = printed("a", "b");
    daemon.events(session, execution, events);
    daemon.events(session, execution, events);
    daemon.events(session, execution, events.slice(1), outcome({ last_seq: 3 }));
    await daemon.waitFor("ack", ({ final }) => final);
    expect(await get()).toMatchObject({ status: "ok", stdout: "ab" });
  });

  it("that came out of order are asked for again, and nothing is lost", async () => {
    const events = printed("a", "b", "c");
    daemon.events(session, execution, events.slice(2, 3));
    const { seq } = await daemon.waitFor("resend");
    expect(seq).toBe(0);
    daemon.events(session, execution, events.slice(0, 2));
    await daemon.waitFor("ack", (frame) => frame.seq === 2);
    daemon.events(session, execution, events.slice(3), outcome({ last_seq: 4 }));
    expect((await daemon.waitFor("resend", (frame) => frame.seq === 2)).seq).toBe(2);
    expect((await get()).status).toBe("running");
    daemon.events(session, execution, events.slice(2), outcome({ last_seq: 4 }));
    await daemon.waitFor("ack", ({ final }) => final);
    expect(await get()).toMatchObject({ status: "ok", stdout: "abc" });
  });

  it("with an outcome whose last events are missing keep what came and ask for the rest", async () => {
    daemon.events(session, execution, printed("a"), outcome({ last_seq: 3 }));
    await daemon.waitFor("resend", ({ seq }) => seq === 2);
    expect(await get()).toMatchObject({ status: "running", stdout: "a" });
    daemon.events(session, execution, printed("a", "b").slice(2), outcome({ last_seq: 3 }));
    await daemon.waitFor("ack", ({ final }) => final);
    expect(await get()).toMatchObject({ status: "ok", stdout: "ab" });
  });

  it("that come after the terminal record change nothing and are acknowledged for good", async () => {
    daemon.events(session, execution, printed("a"), outcome({ last_seq: 2 }));
    await daemon.waitFor("ack", ({ final }) => final);
    const record = await get();
    daemon.frames.length = 0;
    daemon.events(session, execution, printed("a", "forged"), outcome({ status: "error", last_seq: 3 }));
    await daemon.waitFor("ack", ({ final }) => final);
    expect(await get()).toEqual(record);
  });

  it("of an execution that nobody knows are acknowledged, so that the daemon can forget it", async () => {
    daemon.events(session, "exe_00000000000000000000000000", printed("a"), outcome({ last_seq: 2 }));
    await daemon.waitFor("ack", (frame) => frame.execution.startsWith("exe_000") && frame.final);
  });
});

describe("losing an object in mid-cell", () => {
  const inMidCell = async (): Promise<{ execution: string; waiting: ReturnType<typeof client.execute> }> => {
    daemon.onRun = () => {};
    const waiting = client.execute(session, "cell", { "Idempotency-Key": "mid" });
    const [run] = await until(() => daemon.runs().length > 0 && daemon.runs());
    const { command } = run!;
    const execution = command.type === "run" ? command.execution : "";
    daemon.events(session, execution, printed("before "));
    await daemon.waitFor("ack", (frame) => frame.execution === execution && frame.seq === 2);
    return { execution, waiting };
  };
  const finish = (execution: string) =>
    daemon.events(session, execution, printed("before ", "after").slice(2), outcome({ last_seq: 3 }));

  it("the SessionObject is reset: the waiting caller gets the one record", async () => {
    const { execution, waiting } = await inMidCell();
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.abort("test")).catch(() => undefined);
    finish(execution);
    expect((await waiting).body).toMatchObject({ id: execution, status: "ok", stdout: "before after" });
    expect(daemon.runs()).toHaveLength(1);
  });

  it("the HostObject hibernates: reports on the same socket are taken", async () => {
    const { execution, waiting } = await inMidCell();
    await evictDurableObject(hostStub());
    finish(execution);
    expect((await waiting).body).toMatchObject({ id: execution, status: "ok", stdout: "before after" });
  });

  it("the HostObject goes down with its sockets: the daemon dials again and reports", async () => {
    const { execution, waiting } = await inMidCell();
    await evictDurableObject(hostStub(), { webSockets: "close" });
    await until(() => daemon.closed);
    await daemon.connect();
    finish(execution);
    expect((await waiting).body).toMatchObject({ id: execution, status: "ok", stdout: "before after" });
    expect(daemon.ran.size).toBe(1);
  });

  it("both are lost: one run, one record, the same for who asks again", async () => {
    const { execution, waiting } = await inMidCell();
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.abort("test")).catch(() => undefined);
    await runInDurableObject(hostStub(), (_, ctx) => ctx.abort("test")).catch(() => undefined);
    await until(() => daemon.closed);
    await daemon.connect();
    finish(execution);
    const first = (await waiting).body;
    const again = await client.execute(session, "cell", { "Idempotency-Key": "mid" });
    expect(again.body).toEqual(first);
    expect(daemon.ran.size).toBe(1);
  });

  it("the SessionObject is reset while callers wait in its queue: each runs once", async () => {
    const { execution, waiting } = await inMidCell();
    const queued = ["one", "two", "three"].map((code) => client.execute(session, code));
    await until(async () => {
      const path = `/v1/sessions/${session}/contexts`;
      const { body } = await client.call<{ data: { queued: number }[] }>("GET", path);
      return body.data[0]!.queued === 3;
    });
    daemon.onRun = echo(daemon);
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.abort("test")).catch(() => undefined);
    finish(execution);
    expect((await waiting).body.status).toBe("ok");
    expect((await Promise.all(queued)).map(({ body }) => body.stdout)).toEqual(["one", "two", "three"]);
    expect(daemon.ran.size).toBe(4);
  });

  it("the HostObject is lost with the answer that held the next run: that run comes all the same, once", async () => {
    const { execution, waiting } = await inMidCell();
    const next = client.execute(session, "next");
    await until(async () => {
      const { body } = await client.call<{ data: Execution[] }>("GET", `/v1/sessions/${session}/executions`);
      return body.data.length === 2;
    });
    daemon.onRun = echo(daemon);
    // The report itself arrives; its answer finds no HostObject any more.
    const events = printed("before ", "after").slice(2);
    await runInDurableObject(sessionStub(), (object) =>
      (object as SessionObject).report(execution, events, outcome({ last_seq: 3 })),
    );
    expect((await waiting).body.stdout).toBe("before after");
    expect(daemon.ran.size).toBe(1);
    finish(execution);
    expect((await next).body).toMatchObject({ status: "ok", stdout: "next" });
    expect(daemon.ran.size).toBe(2);
  });

  it("an interrupt never overtakes the run that travels in an answer", async () => {
    const { execution } = await inMidCell();
    const { body } = await client.submit(session, "next");
    const events = printed("before ", "after").slice(2);
    const interrupting = await runInDurableObject(sessionStub(), async (object) => {
      const session = object as SessionObject;
      // The answer with the run is on its way, and takes its time.
      const answer = await session.report(execution, events, outcome({ last_seq: 3 }));
      await session.interrupt(body.id);
      return answer;
    });
    expect(interrupting).toMatchObject({ next: { command: { type: "run", execution: body.id } } });
    await daemon.waitFor("command", ({ command }) => command.type === "interrupt");
    const kinds = daemon.commands.map(
      ({ command }) => "execution" in command && [command.type, command.execution],
    );
    expect(kinds.slice(-2)).toEqual([
      ["run", body.id],
      ["interrupt", body.id],
    ]);
  });

  it("the HostObject hibernates between two restarts of a context: both are carried out", async () => {
    const restart = () => client.call("POST", `/v1/sessions/${session}/contexts/python/restart`);
    await client.execute(session, "1");
    const restarts = () => daemon.commands.filter(({ command }) => command.type === "context.restart");
    expect((await restart()).status).toBe(202);
    await until(() => restarts().length === 1);
    await evictDurableObject(hostStub());
    expect((await restart()).status).toBe(202);
    await until(() => restarts().length === 2);
    const numbers = daemon.commands.map(({ n }) => n);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("a run that was never handed over is handed over after the reset", async () => {
    daemon.disconnect();
    await until(async () => {
      const sockets = await runInDurableObject(hostStub(), (_, ctx) => ctx.getWebSockets().length);
      return sockets === 0;
    });
    const { body } = await client.submit(session, "waits");
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.abort("test")).catch(() => undefined);
    await daemon.connect();
    await until(() => daemon.ran.has(body.id));
    const done = await until(async () => {
      const answer = await client.call<Execution>("GET", `/v1/sessions/${session}/executions/${body.id}`);
      return answer.body.status === "ok" && answer.body;
    });
    expect(done.stdout).toBe("waits");
    expect(daemon.runs(body.id).length).toBeGreaterThan(0);
  });
});

/** A run is written in its session only; the host's object has it in memory until the daemon has it. */
describe("a run that the link lost", () => {
  const interrupts = () => daemon.commands.filter(({ command }) => command.type === "interrupt");
  const lost = async () => {
    daemon.deaf = true;
    const { body } = await client.submit(session, "cell");
    // Which would send it again, too, but later.
    await runInDurableObject(sessionStub(), (_, ctx) => ctx.storage.deleteAlarm());
    return body.id;
  };
  const dialAgain = async () => {
    daemon.disconnect();
    daemon.deaf = false;
    await daemon.connect();
  };
  const finished = (execution: string) =>
    until(async () => {
      const { body } = await client.call<Execution>("GET", `/v1/sessions/${session}/executions/${execution}`);
      return body.status === "ok" && body;
    });

  it("comes again on the next one", async () => {
    const execution = await lost();
    await dialAgain();
    await finished(execution);
    expect(daemon.ran.get(execution)).toBe(1);
    expect(daemon.gaps).toEqual([]);
  });

  for (const webSockets of ["hibernate", "close"] as const)
    it(`comes again although the host's object has forgotten it (sockets: ${webSockets})`, async () => {
      const execution = await lost();
      await evictDurableObject(hostStub(), { webSockets });
      await dialAgain();
      await finished(execution);
      expect(daemon.ran.get(execution)).toBe(1);
      expect(daemon.gaps).toEqual([]);
    });

  it("comes before the interrupt that followed it, whatever the host's object remembers", async () => {
    for (const forget of [false, true]) {
      daemon.onRun = () => {};
      const execution = await lost();
      await client.call("POST", `/v1/sessions/${session}/executions/${execution}/interrupt`);
      if (forget) await evictDurableObject(hostStub(), { webSockets: "close" });
      daemon.commands.length = 0;
      await dialAgain();
      await until(() => interrupts().length > 0);
      expect(daemon.commands.map(({ command }) => command.type).slice(0, 2)).toEqual(["run", "interrupt"]);
      expect(daemon.gaps).toEqual([]);
      const events = printed();
      daemon.events(session, execution, events, outcome({ status: "interrupted", last_seq: events.length }));
      await daemon.waitFor("ack", (frame) => frame.execution === execution && frame.final);
    }
  });

  it("is interrupted after it came again, when the object forgot it before the interrupt", async () => {
    daemon.onRun = () => {};
    const execution = await lost();
    await evictDurableObject(hostStub(), { webSockets: "close" });
    await client.call("POST", `/v1/sessions/${session}/executions/${execution}/interrupt`);
    await dialAgain();
    await until(() => interrupts().length > 0);
    const order = daemon.commands.map(({ command }) => command.type);
    expect(order.indexOf("run")).toBeLessThan(order.indexOf("interrupt"));
    expect(daemon.gaps).toEqual([]);
  });

  it("leaves the numbers of what follows without a gap, also when the object hibernates", async () => {
    for (let round = 0; round < 3; round++) {
      expect((await client.execute(session, `cell ${round}`)).body.status).toBe("ok");
      await evictDurableObject(hostStub());
      await client.call("POST", `/v1/sessions/${session}/contexts/python/restart`);
    }
    expect((await client.execute(session, "last")).body.status).toBe("ok");
    expect(daemon.gaps).toEqual([]);
    expect(new Set(daemon.commands.map(({ n }) => n)).size).toBe(daemon.commands.length);
  });

  it("takes nothing along that was ordered while nobody remembered the numbers", async () => {
    for (let cell = 0; cell < 5; cell++) await client.execute(session, "counted");
    daemon.disconnect();
    await until(async () => {
      const meta = await runInDurableObject(hostStub(), (_, ctx) =>
        ctx.storage.kv.get<{ connected: boolean }>("host"),
      );
      return meta?.connected === false;
    });
    await evictDurableObject(hostStub(), { webSockets: "close" });
    await client.call("POST", `/v1/sessions/${session}/contexts/python/restart`);
    await daemon.connect();
    await until(() => daemon.commands.some(({ command }) => command.type === "context.restart"));
    expect(daemon.gaps).toEqual([]);
  });
});
