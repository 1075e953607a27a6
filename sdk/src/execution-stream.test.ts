import { afterEach, describe, expect, it } from "vitest";
import { toExecution } from "./execution.ts";
import type { ExecutionEvent } from "./execution-stream.ts";
import { events, fakeServer, hangUp, json, record } from "./fake-server.test-support.ts";
import { Session } from "./session.ts";

const info = { id: "ses_1", key: "k", limits: { timeout_s: 30 } } as never;
let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

async function start(...handlers: Parameters<typeof fakeServer>[0]) {
  const server = await fakeServer(handlers);
  close = server.close;
  return { session: new Session(server.client.http, info), received: server.received };
}

const done = record("ok", { text: "2" });

describe("an execution's stream", () => {
  it("goes on after a cut with Last-Event-ID, without a gap or a repeat", async () => {
    const { session, received } = await start(
      events(
        [
          [1, "started", {}],
          [2, "stdout", { text: "a" }],
        ],
        "break",
        {
          location: "/v1/sessions/ses_1/executions/exe_1",
        },
      ),
      json(503, { code: "HOST_UNREACHABLE", title: "", detail: "", retryable: true, request_id: "r" }),
      events([[3, "stdout", { text: "b" }]]),
      events([
        [3, "stdout", { text: "b" }],
        [4, "finished", done],
      ]),
    );
    const seen: ExecutionEvent[] = [];
    for await (const event of session.stream("1 + 1")) seen.push(event);
    expect(seen.map((event) => event.id)).toEqual(["1", "2", "3", "4"]);
    expect(received.map(({ method, headers }) => [method, headers["last-event-id"]])).toEqual([
      ["POST", undefined],
      ["GET", "2"],
      ["GET", "2"],
      ["GET", "3"],
    ]);
  });

  it("is left while it waits for an event, hangs up at once, interrupts nothing, and can be read on", async () => {
    let hungUp: () => void;
    const gone = new Promise<void>((resolve) => {
      hungUp = resolve;
    });
    const { session, received } = await start(
      (request, response) => {
        response.on("close", () => hungUp());
        events([[1, "stdout", { text: "a" }]], "stay")(request, response);
      },
      events([[2, "finished", done]]),
    );
    const stream = session.follow("exe_1");
    for await (const event of stream) if (event.id === "1") setTimeout(() => stream.leave());
    await gone;
    expect(stream.lastEventId).toBe("1");
    expect((await stream.finished()).text).toBe("2");
    expect(received.map(({ method }) => method)).toEqual(["GET", "GET"]);
  });

  it("a POST that got no answer is repeated with the same key and the same body", async () => {
    const { session, received } = await start(
      hangUp,
      hangUp,
      json(200, done),
      events([[1, "finished", done]]),
    );
    // The first try waits for JSON, the later ones stream.
    const execution = await session.run("1 + 1");
    expect(execution.text).toBe("2");
    const keys = received.map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(1);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
  });

  it("a refusal is passed on at once, with its hint", async () => {
    const { session, received } = await start(
      json(410, {
        code: "SESSION_ENDED",
        title: "t",
        detail: "gone",
        hint: "Create it again",
        retryable: false,
        request_id: "req_1",
      }),
    );
    await expect(session.run("1", { onStdout() {} })).rejects.toMatchObject({
      name: "SandbarError",
      code: "SESSION_ENDED",
      status: 410,
      hint: "Create it again",
      retryable: false,
      requestId: "req_1",
    });
    expect(received).toHaveLength(1);
  });

  it("an abort interrupts the execution on the server, then rejects with AbortError", async () => {
    const { session, received } = await start(
      events([[1, "started", {}]], "stay", { location: "/v1/sessions/ses_1/executions/exe_1" }),
      json(202, record("running")),
    );
    const abort = new AbortController();
    const run = session.run("while True: pass", {
      signal: abort.signal,
      onEvent: () => abort.abort(),
    });
    await expect(run).rejects.toMatchObject({ name: "AbortError", executionId: "exe_1", interrupted: true });
    expect(received.at(-1)).toMatchObject({
      method: "POST",
      path: "/v1/sessions/ses_1/executions/exe_1/interrupt",
    });
  });

  it("an abort before the answer waits for it, so that nothing runs on unseen", async () => {
    const { session, received } = await start(
      (request, response) => {
        setTimeout(() => events([], "stay")(request, response), 50);
      },
      json(202, record("queued")),
      json(202, record("queued")),
    );
    const abort = new AbortController();
    const run = session.run("x", { signal: abort.signal });
    setTimeout(() => abort.abort(), 20);
    await expect(run).rejects.toMatchObject({ name: "AbortError", interrupted: true });
    expect(received.map(({ path, headers }) => [path.split("/").at(-1), headers.prefer])).toEqual([
      ["executions", undefined],
      ["executions", "respond-async"],
      ["interrupt", undefined],
    ]);
    expect(received[1]!.headers["idempotency-key"]).toBe(received[0]!.headers["idempotency-key"]);
  });

  it("an aborted signal sends nothing", async () => {
    const { session, received } = await start(json(200, done));
    await expect(session.run("x", { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(received).toHaveLength(0);
  });
});

describe("an execution", () => {
  it("is the plain record with helpers that do not show", async () => {
    const { session } = await start(json(200, { ...done, results: [{ "image/png": btoa("PNG") }] }));
    const execution = await session.run("1 + 1");
    expect(new TextDecoder().decode(execution.png()!)).toBe("PNG");
    expect(execution.ok()).toBe(execution);
    expect(Object.keys(JSON.parse(JSON.stringify(execution)))).toEqual(Object.keys(done));
  });

  it("throws from ok() what went wrong and what survived", async () => {
    const failed = record("died", {
      error: { name: "OOM_KILLED", value: "out of memory", traceback: "" },
      state: { variables: "lost", files: "kept" },
    });
    const { session } = await start(json(200, failed));
    const execution = await session.run("x");
    expect(() => execution.ok()).toThrow("OOM_KILLED: out of memory (variables lost, files kept)");
    const state = { variables: "lost", files: "kept", reason: "it fell" } as const;
    expect(() => toExecution({ ...failed, state }).ok()).toThrow("(variables lost: it fell, files kept)");
  });
});
