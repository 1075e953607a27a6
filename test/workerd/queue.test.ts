import { type Context, type Execution, QUEUE_LIMIT } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { Client } from "./client.ts";
import { echo, type FakeDaemon, onlyHost, outcome, printed, until } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
let session: string;
beforeEach(async () => {
  daemon = await onlyHost();
  client = await Client.of("acme");
  session = (await client.session()).id;
});

const executionNow = async (id: string) =>
  (await client.call<Execution>("GET", `/v1/sessions/${session}/executions/${id}`)).body;

describe("executions of one context", () => {
  it("are sent one at a time, in the order in which they came", async () => {
    const order: string[] = [];
    let running = 0;
    daemon.onRun = (run, id) => {
      expect(++running).toBe(1);
      order.push(run.code);
      setTimeout(() => {
        running--;
        echo(daemon)(run, id);
      }, 5);
    };
    const accepted: Awaited<ReturnType<Client["submit"]>>[] = [];
    for (const code of ["a", "b", "c", "d"]) accepted.push(await client.submit(session, code));
    await until(async () => (await executionNow(accepted[3]!.body.id)).status === "ok");
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  it("wait in a bounded queue", async () => {
    daemon.onRun = () => {};
    for (let i = 0; i < QUEUE_LIMIT + 1; i++) expect((await client.submit(session, "x")).status).toBe(202);
    const refused = await client.submit(session, "x");
    expect(refused).toMatchObject({ status: 429, body: { code: "QUEUE_FULL" } });
    expect(refused.headers.get("Retry-After")).toBe("1");
    expect((await client.submit(session, "x", { language: "bash" })).status).toBe(202);
  });

  it("that wait can be interrupted without having run", async () => {
    daemon.onRun = () => {};
    const first = await client.submit(session, "runs");
    const second = await client.submit(session, "waits");
    const answer = await client.call<Execution>(
      "POST",
      `/v1/sessions/${session}/executions/${second.body.id}/interrupt`,
    );
    expect(answer).toMatchObject({
      status: 202,
      body: { status: "interrupted", error: { name: "INTERRUPTED" } },
    });
    daemon.events(session, first.body.id, printed(), outcome({ last_seq: 1 }));
    await until(async () => (await executionNow(first.body.id)).status === "ok");
    expect(daemon.runs(second.body.id)).toHaveLength(0);
  });

  it("that run are interrupted by the host, and an interrupt after the end changes nothing", async () => {
    daemon.onRun = () => {};
    const { body } = await client.submit(session, "runs");
    const path = `/v1/sessions/${session}/executions/${body.id}/interrupt`;
    expect((await client.call("POST", path)).status).toBe(202);
    await daemon.waitFor(
      "command",
      ({ command }) => command.type === "interrupt" && command.execution === body.id,
    );
    daemon.events(session, body.id, printed(), outcome({ status: "interrupted", last_seq: 1 }));
    await until(async () => (await executionNow(body.id)).status === "interrupted");
    expect((await client.call("POST", path)).status).toBe(202);
    expect((await client.call("POST", path.replace(body.id, "exe_00000000000000000000000000"))).status).toBe(
      404,
    );
  });

  it("that wait end as interrupted when the session is stopped, and the running one as the host says", async () => {
    daemon.obliging = false;
    daemon.onRun = () => {};
    const running = await client.submit(session, "runs");
    const waiting = await client.submit(session, "waits");
    await until(() => daemon.runs(running.body.id).length > 0);
    const deleted = client.call("DELETE", `/v1/sessions/${session}`);
    await daemon.waitFor("command", ({ command }) => command.type === "session.stop");
    daemon.events(session, running.body.id, printed("x"), outcome({ status: "interrupted", last_seq: 2 }));
    await daemon.waitFor("ack", ({ final }) => final);
    daemon.report(session, { state: "stopped" });
    expect((await deleted).status).toBe(204);
    expect(await executionNow(running.body.id)).toMatchObject({ status: "interrupted", stdout: "x" });
    expect(await executionNow(waiting.body.id)).toMatchObject({
      status: "interrupted",
      error: { name: "SESSION_STOPPED" },
    });
  });
});

describe("contexts", () => {
  it("are made on demand for a language that the image has", async () => {
    await client.execute(session, "ls", {}, { language: "bash" });
    const { command } = daemon.runs()[0]!;
    expect(command).toMatchObject({ context: "bash", language: "bash" });
    const list = await client.call<{ data: Context[] }>("GET", `/v1/sessions/${session}/contexts`);
    expect(list.body.data.map(({ name }) => name)).toEqual(["python", "bash"]);
    const missing = await client.execute(session, "1", {}, { language: "r" });
    expect(missing).toMatchObject({ status: 422, body: { code: "LANGUAGE_UNAVAILABLE" } });
  });

  it("can be named, used by name or id, restarted and closed", async () => {
    const path = `/v1/sessions/${session}/contexts`;
    const made = await client.call<Context>("POST", path, { name: "work", language: "python" });
    expect(made.status).toBe(201);
    expect((await client.call("POST", path, { name: "work", language: "python" })).status).toBe(200);
    expect((await client.call("POST", path, { name: "work", language: "bash" })).status).toBe(409);
    for (const context of ["work", made.body.id])
      expect((await client.execute(session, "1", {}, { context })).body.context).toBe("work");
    expect((await client.execute(session, "1", {}, { context: "nope" })).status).toBe(404);
    expect((await client.call("POST", `${path}/work/restart`)).status).toBe(202);
    expect((await client.call("DELETE", `${path}/work`)).status).toBe(204);
    expect((await client.call("DELETE", `${path}/work`)).status).toBe(404);
    await until(() => daemon.commands.some(({ command }) => command.type === "context.close"));
    expect(daemon.commands.map(({ command }) => command.type)).toEqual(
      expect.arrayContaining(["context.open", "context.restart", "context.close"]),
    );
  });

  it("tell their state through the host", async () => {
    const asked = client.call("GET", `/v1/sessions/${session}/state`);
    const call = await daemon.waitFor("call");
    expect(call).toMatchObject({ session, method: "state", params: { context: "python" } });
    const state = { variables: [], total: 0, imports: ["os"], cwd: "/session" };
    daemon.send({ t: "answer", id: call.id, result: state });
    expect(await asked).toMatchObject({ status: 200, body: state });
  });

  it("tell nothing that their host's answer is not", async () => {
    const asked = client.call("GET", `/v1/sessions/${session}/state`);
    const call = await daemon.waitFor("call");
    daemon.send({ t: "answer", id: call.id, result: { variables: "all of them" } });
    expect(await asked).toMatchObject({ status: 502, body: { code: "HOST_ERROR" } });
  });
});
