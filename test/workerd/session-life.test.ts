import type { Execution, Problem } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { Client, readSse } from "./client.ts";
import { type FakeDaemon, onlyHost, outcome, printed } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
beforeEach(async () => {
  daemon = await onlyHost();
  client = await Client.of("acme");
});

describe("one execution", () => {
  it("goes to the host and comes back as a record", async () => {
    const session = await client.session();
    expect(session).toMatchObject({
      status: "ready",
      host_id: daemon.host,
      runtime: "python",
      image: "sandbar/python",
    });
    const { status, body } = await client.execute(session.id, "hello");
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "ok", stdout: "hello", session_id: session.id, context: "python" });
    expect(body.duration_ms).toBe(5);
    const again = await client.call<Execution>("GET", `/v1/sessions/${session.id}/executions/${body.id}`);
    expect(again.body).toEqual({ ...body, code: "hello" });
  });

  it("streams its events and ends with exactly one finished", async () => {
    const session = await client.session();
    const response = await client.fetch(`/v1/sessions/${session.id}/executions`, {
      method: "POST",
      json: { code: "hi" },
      headers: { Accept: "text/event-stream" },
    });
    expect(response.headers.get("Content-Type")).toContain("text/event-stream");
    const messages = await readSse(response);
    expect(messages.map(({ id, event }) => [id, event])).toEqual([
      [1, "started"],
      [2, "stdout"],
      [3, "finished"],
    ]);
    expect(messages[2]!.data).toMatchObject({ status: "ok", stdout: "hi" });
  });

  it("is accepted at once with Prefer: respond-async", async () => {
    daemon.onRun = () => {};
    const session = await client.session();
    const { status, body } = await client.submit(session.id, "later");
    expect(status).toBe(202);
    expect(body.status).toBe("queued");
    daemon.events(session.id, body.id, printed("a"));
    const events = await client.fetch(`/v1/sessions/${session.id}/executions/${body.id}/events`);
    daemon.events(session.id, body.id, [], outcome({ last_seq: 2 }));
    expect((await readSse(events)).map(({ event }) => event)).toEqual(["started", "stdout", "finished"]);
  });
});

describe("a session", () => {
  it("is deleted with the folder that it leaves on its host only when that is asked for", async () => {
    const remove = async (storage: string, query: string) => {
      const session = await client.session({ storage });
      const deleted = client.call<Problem>("DELETE", `/v1/sessions/${session.id}${query}`);
      const asked = daemon.waitFor(
        "call",
        ({ method, params }) =>
          method === "folders.remove" && (params as { session: string }).session === session.id,
      );
      return { session, deleted, asked };
    };
    for (const [storage, query] of [
      ["BIND", ""],
      ["BIND", "?purge=false"],
      ["TMPFS", "?purge=true"],
    ] as const)
      expect((await (await remove(storage, query)).deleted).status).toBe(204);
    expect(daemon.frames.filter((frame) => frame.t === "call")).toEqual([]);
    const { session, deleted, asked } = await remove("BIND", "?purge=true");
    daemon.send({ t: "answer", id: (await asked).id, failure: { code: "HOST_ERROR", detail: "no" } });
    expect((await deleted).body.code).toBe("HOST_ERROR");
    daemon.frames.length = 0;
    // It has ended, and its folder may still be asked away.
    const again = client.call("DELETE", `/v1/sessions/${session.id}?purge=true`);
    const call = await daemon.waitFor("call", ({ method }) => method === "folders.remove");
    daemon.send({ t: "answer", id: call.id, result: true });
    expect((await again).status).toBe(204);
    expect((await client.call<Problem>("DELETE", `/v1/sessions/${session.id}?purge=maybe`)).body.code).toBe(
      "VALIDATION_FAILED",
    );
  });

  it("stops, and its executions are refused from then on", async () => {
    const session = await client.session();
    expect((await client.call("DELETE", `/v1/sessions/${session.id}`)).status).toBe(204);
    expect((await client.call("DELETE", `/v1/sessions/${session.id}`)).status).toBe(204);
    const after = await client.execute(session.id, "1");
    expect(after.status).toBe(410);
    expect((after.body as unknown as Problem).code).toBe("SESSION_ENDED");
  });
});
