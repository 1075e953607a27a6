/** A waiting caller's run comes back with the call that brought it; whoever is lost meanwhile, nothing of it is. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { bindings, Client } from "./client.ts";
import { type FakeDaemon, onlyHost, outcome, printed, until } from "./fake-daemon.ts";

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
const report = (execution: string) =>
  daemon.events(session, execution, printed("x"), outcome({ last_seq: 2 }));
const finalAcks = (execution: string) =>
  daemon.frames.filter((frame) => frame.t === "ack" && frame.final && frame.execution === execution);
/** From here on the host's object cannot report: a property of the object's own is no method that others may call. */
const withoutReports = () =>
  runInDurableObject(sessionStub(), (instance) => {
    Object.assign(instance, { report: null });
  });

describe("a short cell", () => {
  it("needs no call of its own for its report, and is acknowledged with what follows", async () => {
    await withoutReports();
    const first = await client.execute(session, "one");
    expect(first).toMatchObject({ status: 200, body: { status: "ok", stdout: "one" } });
    const second = await client.execute(session, "two");
    const [ack] = await until(() => finalAcks(first.body.id).length > 0 && finalAcks(first.body.id));
    expect(ack).toMatchObject({ session, seq: 2 });
    await until(() => finalAcks(second.body.id).length === 1);
  });

  it("is acknowledged soon when nothing follows", async () => {
    const { body } = await client.execute(session, "alone");
    await until(() => finalAcks(body.id).length === 1);
  });

  it("makes room for the next one, in order", async () => {
    const all = await Promise.all(["a", "b", "c", "d"].map((code) => client.execute(session, code)));
    expect(all.map(({ body }) => body.stdout)).toEqual(["a", "b", "c", "d"]);
    for (const { body } of all) await until(() => finalAcks(body.id).length === 1);
    expect([...daemon.ran.values()]).toEqual([1, 1, 1, 1]);
  });

  it("that is reported twice has one record and is acknowledged twice", async () => {
    const { body } = await client.execute(session, "twice");
    await until(() => finalAcks(body.id).length === 1);
    report(body.id);
    await until(() => finalAcks(body.id).length === 2);
    const { body: now } = await client.call("GET", `/v1/sessions/${session}/executions/${body.id}`);
    expect(now).toEqual({ ...body, code: "twice" });
  });
});

describe("a cell that is not over at once", () => {
  it.each([
    ["and says so", true],
    ["and says nothing yet", false],
  ])("is heard of in the ordinary way: %s", async (_, speaks) => {
    daemon.onRun = (run) => {
      if (speaks) daemon.events(session, run.execution, printed("x").slice(0, 1));
      setTimeout(() => report(run.execution), 150);
    };
    expect((await client.execute(session, "longer")).body).toMatchObject({ status: "ok", stdout: "x" });
  });

  it("holds up neither another context nor its own interrupt", async () => {
    daemon.onRun = (run) => {
      if (run.language === "bash") report(run.execution);
    };
    const held = client.execute(session, "held");
    const python = await until(() => [...daemon.ran.keys()][0]);
    expect((await client.execute(session, "echo", {}, { language: "bash" })).body.status).toBe("ok");
    await client.call("POST", `/v1/sessions/${session}/executions/${python}/interrupt`);
    await until(() => daemon.commands.some(({ command }) => command.type === "interrupt"));
    report(python);
    expect((await held).body.id).toBe(python);
  });
});

describe("a report that went with an answer which nobody got", () => {
  const reset = (stub: DurableObjectStub) =>
    runInDurableObject(stub as never, (_, ctx) => ctx.abort("reset")).catch(() => {});
  const started = () => until(() => [...daemon.ran.keys()][0]);

  it.each([
    ["the session's object", () => reset(sessionStub() as never)],
    ["the host's object", () => reset(hostStub() as never)],
    ["the host's object, asleep", () => evictDurableObject(hostStub()).catch(() => undefined)],
    ["both", () => reset(sessionStub() as never).then(() => reset(hostStub() as never))],
  ])("is asked for again after the loss of %s", async (_, lose) => {
    daemon.onRun = () => {};
    const waiting = client.execute(session, "lost");
    const execution = await started();
    report(execution);
    await lose();
    // A daemon that is asked for more says all of it again, and on a new link it speaks first.
    let answered = 0;
    const done = waiting.then((answer) => answer.body);
    for (let over = false; !over; ) {
      if (daemon.closed) {
        await daemon.connect();
        report(execution);
      }
      const asked = daemon.frames.filter((f) => f.t === "resend" && f.execution === execution).length;
      if (asked > answered) {
        answered = asked;
        report(execution);
      }
      over = await Promise.race([done.then(() => true), new Promise<false>((r) => setTimeout(r, 10, false))]);
    }
    expect(await done).toMatchObject({ id: execution, status: "ok", stdout: "x" });
    expect(daemon.ran.get(execution)).toBe(1);
  });
});
