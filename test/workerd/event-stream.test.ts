import type { Artifact, Problem, Session } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { Client, readSse } from "./client.ts";
import { type FakeDaemon, onlyHost, outcome, printed, until } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
let session: string;
beforeEach(async () => {
  daemon = await onlyHost();
  client = await Client.of("acme");
  session = (await client.session()).id;
});

const eventsOf = (execution: string, headers: Record<string, string> = {}, query = "") =>
  client.fetch(`/v1/sessions/${session}/executions/${execution}/events${query}`, { headers });

describe("the events of an execution", () => {
  it("resume after Last-Event-ID without a gap or a repetition, wherever the reader left off", async () => {
    daemon.onRun = (run) => {
      const events = printed("a", "b", "c", "d");
      daemon.events(session, run.execution, events.slice(0, 2));
      daemon.events(session, run.execution, events.slice(2), outcome({ last_seq: 5 }));
    };
    const { body } = await client.execute(session, "x");
    const all = await readSse(await eventsOf(body.id));
    expect(all.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    for (let after = 0; after <= 6; after++) {
      const rest = await readSse(await eventsOf(body.id, { "Last-Event-ID": String(after) }));
      expect(rest).toEqual(all.slice(after));
    }
    expect(await readSse(await eventsOf(body.id, {}, "?last_event_id=4"))).toEqual(all.slice(4));
    expect((await eventsOf(body.id, { "Last-Event-ID": "x" })).status).toBe(400);
  });

  it("after an id that no event has are refused, while it runs and when it has ended", async () => {
    const beyond = async (path: string, id: number, init: RequestInit & { json?: unknown } = {}) => {
      const headers = { Accept: "text/event-stream", "Last-Event-ID": String(id) };
      const answer = await client.fetch(`/v1/sessions/${session}${path}`, { ...init, headers });
      const { detail } = answer.status === 400 ? await answer.json<Problem>() : { detail: "" };
      await answer.body?.cancel().catch(() => {});
      return [answer.status, detail];
    };
    daemon.onRun = () => {};
    const { body } = await client.submit(session, "x");
    const events = `/executions/${body.id}/events`;
    daemon.events(session, body.id, printed("now"));
    await until(async () => (await beyond(events, 2))[0] === 200);
    expect(await beyond(events, 3)).toEqual([400, "Last-Event-ID is beyond the last event, 2"]);
    daemon.events(session, body.id, [], outcome({ last_seq: 2 }));
    await until(async () => (await beyond(events, 3))[0] === 200);
    expect(await beyond(events, 4)).toEqual([400, "Last-Event-ID is beyond the last event, 3"]);
    expect((await beyond("/events", 1000))[0]).toBe(400);
    const runs = daemon.runs().length;
    expect((await beyond("/executions", 1, { method: "POST", json: { code: "y" } }))[0]).toBe(400);
    expect(daemon.runs().length).toBe(runs);
  });

  it("reach a reader while the code runs", async () => {
    daemon.onRun = () => {};
    const { body } = await client.submit(session, "x");
    const stream = await eventsOf(body.id);
    daemon.events(session, body.id, printed("now"));
    const live = await readSse(stream, (messages) => messages.length === 2);
    expect(live.map(({ event }) => event)).toEqual(["started", "stdout"]);
    daemon.events(session, body.id, [], outcome({ last_seq: 2 }));
    const rest = await readSse(await eventsOf(body.id, { "Last-Event-ID": "2" }));
    expect(rest.map(({ id, event }) => [id, event])).toEqual([[3, "finished"]]);
  });

  it("carry artifacts between the output and finished, with ids of their own", async () => {
    const artifact: Artifact = {
      id: "art_1",
      session_id: session,
      execution_id: null,
      name: "a.txt",
      size: 1,
      mime: "text/plain",
      sha256: "0".repeat(64),
      created_at: "2026-01-01T00:00:00Z",
      url: "/artifacts/art_1",
    };
    daemon.onRun = (run) =>
      daemon.events(session, run.execution, printed(), outcome({ last_seq: 1, artifacts: [artifact] }));
    const { body } = await client.execute(session, "x");
    const messages = await readSse(await eventsOf(body.id));
    expect(messages.map(({ id, event }) => [id, event])).toEqual([
      [1, "started"],
      [2, "artifact"],
      [3, "finished"],
    ]);
    const { url, ...rest } = body.artifacts[0]!;
    expect(artifact).toMatchObject(rest);
    expect(url).toContain("/artifacts/art_1");
  });

  it("and the record hold more than one SQLite row could", async () => {
    const image = "i".repeat(900_000);
    daemon.onRun = (run) => {
      daemon.events(session, run.execution, [
        { type: "started", seq: 1 },
        { type: "result", seq: 2, data: { "image/png": image } },
      ]);
      daemon.events(session, run.execution, [{ type: "result", seq: 3, data: { "image/png": image } }]);
      daemon.events(
        session,
        run.execution,
        [{ type: "stdout", seq: 4, text: "é".repeat(700_000) }],
        outcome({ last_seq: 4 }),
      );
    };
    const { body } = await client.execute(session, "x");
    expect(body.results.map((bundle) => (bundle["image/png"] as string).length)).toEqual([900_000, 900_000]);
    expect(body.stdout).toHaveLength(50_000);
    expect(body.truncated.stdout).toBe(700_000);
    const messages = await readSse(await eventsOf(body.id));
    expect(messages.map(({ event }) => event)).toEqual(["started", "result", "result", "stdout", "finished"]);
    expect((messages[3]!.data as { text: string }).text).toHaveLength(700_000);
  });

  it("end for a reader that hangs up, and the execution goes on", async () => {
    daemon.onRun = () => {};
    const { body } = await client.submit(session, "x");
    const stream = await eventsOf(body.id);
    await stream.body!.cancel();
    daemon.events(session, body.id, printed("a"), outcome({ last_seq: 2 }));
    await until(
      async () =>
        (await client.execute(session, "probe", { "Idempotency-Key": "p", Prefer: "respond-async" }))
          .status === 202,
    );
    expect((await readSse(await eventsOf(body.id))).at(-1)!.event).toBe("finished");
  });
});

describe("the events of a session", () => {
  it("tell its states and the progress of its creation", async () => {
    daemon.obliging = false;
    const { status, body } = await client.call<Session>(
      "POST",
      "/v1/sessions",
      {},
      { Prefer: "respond-async" },
    );
    expect(status).toBe(202);
    expect(body.status).toBe("creating");
    const refused = await client.execute(body.id, "1");
    expect(refused).toMatchObject({ status: 409, body: { code: "SESSION_NOT_READY" } });
    daemon.send({ t: "progress", session: body.id, step: "image", detail: "pulling" });
    daemon.ready(body.id);
    const stream = await client.fetch(`/v1/sessions/${body.id}/events`);
    const messages = await readSse(stream, (seen) => seen.length === 3);
    expect(
      messages.map(({ event, data }) => [
        event,
        (data as Session).status ?? (data as { detail: string }).detail,
      ]),
    ).toEqual([
      ["status", "creating"],
      ["progress", "pulling"],
      ["status", "ready"],
    ]);
  });
});
