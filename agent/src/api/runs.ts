/** @module `/runs`, with a thread or without: make, stream, wait, join, cancel, list. */
import { readJson, SandbarError } from "@sandbar/shared";
import { unwrap } from "@sandbar/worker/src/answer.ts";
import type { Context } from "hono";
import type { Run } from "../thread/runs.ts";
import { AGENT_ID, requireAgent } from "./assistants.ts";
import { type Api, type ApiEnv, body, checked, EVENT_STREAM, picked } from "./request.ts";
import {
  CancelManySchema,
  ListRunsQuery,
  type RunRequest,
  RunRequestSchema,
  StreamModeSchema,
  WishesSchema,
} from "./shapes.ts";
import { makeThread, type OpenThread, openThread } from "./threads.ts";

const shown = (run: Run, thread_id: string) => ({
  run_id: run.run_id,
  thread_id,
  assistant_id: AGENT_ID,
  created_at: run.created_at,
  updated_at: run.updated_at,
  status: run.status,
  metadata: run.metadata,
  multitask_strategy: run.strategy,
  ...(run.error ? { error: run.error } : {}),
  // What waits is in no state yet.
  ...(run.status === "pending" ? { kwargs: { input: run.request.input ?? null } } : {}),
});

/** Of a batch. */
const MOST_AT_ONCE = 100;

interface Begun {
  readonly thread: OpenThread;
  readonly run: Run;
  readonly request: RunRequest;
}

async function begin(c: Context<ApiEnv>, given?: RunRequest): Promise<Begun> {
  const request = given ?? (await body(c, RunRequestSchema));
  requireAgent(request.assistant_id);
  checked(WishesSchema.safeParse({ ...request.config?.configurable, ...request.context }));
  // Before anything is made: without a model there is nothing to run.
  const { key_id } = c.env.CALL.caller;
  await requireModel(c, request);
  const run_id = crypto.randomUUID();
  const { thread, temporary } = await threadFor(c, request, run_id);
  const run = unwrap(
    await thread.object.createRun(thread.who, {
      run_id,
      request,
      strategy: request.multitask_strategy ?? "enqueue",
      metadata: request.metadata ?? {},
      key_id,
      origin: new URL(c.req.url).origin,
      temporary,
    }),
  );
  return { thread, run, request };
}

async function requireModel(c: Context<ApiEnv>, { config, context }: RunRequest): Promise<void> {
  if (config?.configurable?.model || context?.model) return;
  const settings = await c.env.SANDBAR.settings(c.env.CALL.caller.key_id);
  if (!settings?.model)
    throw new SandbarError("MODEL_NOT_SET", "No model is set: give one as provider:model, with its API key");
}

async function threadFor(
  c: Context<ApiEnv>,
  { if_not_exists, on_completion }: RunRequest,
  run_id: string,
): Promise<{ thread: OpenThread; temporary: boolean }> {
  const id = c.req.param("thread_id");
  if (id === undefined) {
    // Named after its run, so that the run is found without it.
    const thread = await makeThread(c.env, c.env.CALL, run_id, {});
    return { thread: thread!, temporary: on_completion !== "keep" };
  }
  const made = if_not_exists === "create" ? await makeThread(c.env, c.env.CALL, id, {}) : null;
  return { thread: made ?? (await openThread(c, id)), temporary: false };
}

/** Where a client goes on whose connection was cut: for more of the same. */
function paths({ who }: OpenThread, run_id: string, more: "stream" | "join") {
  const run = `/threads/${encodeURIComponent(who.thread_id)}/runs/${run_id}`;
  return { "Content-Location": run, Location: `${run}/${more}` };
}

async function waited(
  c: Context<ApiEnv>,
  thread: OpenThread,
  run_id: string,
  cancelWhenLeft: boolean,
): Promise<Response> {
  const text = unwrap(await thread.object.wait(thread.who, run_id, { cancelWhenLeft }));
  return c.body(text, 200, { ...paths(thread, run_id, "join"), "Content-Type": "application/json" });
}

async function stream(
  c: Context<ApiEnv>,
  thread: OpenThread,
  run_id: string,
  options: { after: number; cancelWhenLeft: boolean; modes: RunRequest["stream_mode"] | null },
): Promise<Response> {
  const { key_id } = c.env.CALL.caller;
  const { after, cancelWhenLeft, modes } = options;
  const events = unwrap(
    await thread.object.stream(thread.who, run_id, { after, cancelWhenLeft, key_id, modes: modes ?? null }),
  );
  return new Response(events, { headers: { ...paths(thread, run_id, "stream"), ...EVENT_STREAM } });
}

const isTrue = (value: string | undefined) => value === "1" || value === "true";

const actionOf = (c: Context<ApiEnv>) => (c.req.query("action") === "rollback" ? "rollback" : "interrupt");

function lastEventId(c: Context<ApiEnv>): number {
  const id = c.env.CALL.last_event_id ?? "";
  if (id === "" || id === "-1") return 0;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new SandbarError("VALIDATION_FAILED", "Last-Event-ID must be the id of an event");
}

function modesOf(c: Context<ApiEnv>) {
  const given = c.req
    .queries("stream_mode")
    // The Python client sends an empty one for none.
    ?.filter((value) => value !== "")
    .flatMap((value) => (value.startsWith("[") ? readJson(value) : value));
  return given?.length ? checked(StreamModeSchema.array().safeParse(given)) : null;
}

export function runRoutes(api: Api): void {
  for (const base of ["", "/threads/:thread_id"] as const) {
    api.post(`${base}/runs/stream`, async (c) => {
      const { thread, run, request } = await begin(c);
      const cancelWhenLeft = request.on_disconnect === "cancel";
      return stream(c, thread, run.run_id, { after: 0, cancelWhenLeft, modes: null });
    });

    api.post(`${base}/runs/wait`, async (c) => {
      const { thread, run, request } = await begin(c);
      return waited(c, thread, run.run_id, request.on_disconnect === "cancel");
    });

    api.post(`${base}/runs`, async (c) => {
      const { thread, run } = await begin(c);
      return c.json(shown(run, thread.who.thread_id), 200, paths(thread, run.run_id, "stream"));
    });
  }

  api.post("/runs/batch", async (c) => {
    const requests = await body(c, RunRequestSchema.array().max(MOST_AT_ONCE));
    const begun: Begun[] = [];
    for (const request of requests) begun.push(await begin(c, request));
    return c.json(begun.map(({ run, thread }) => shown(run, thread.who.thread_id)));
  });

  api.post("/runs/cancel", async (c) => {
    const { thread_id, run_ids, status } = await body(c, CancelManySchema);
    if (!thread_id)
      throw new SandbarError(
        "VALIDATION_FAILED",
        "thread_id: is needed; runs are cancelled thread by thread",
      );
    const { who, object } = await openThread(c, thread_id);
    await object.cancelAll(who, { run_ids: run_ids ?? null, status: status ?? "all" }, actionOf(c));
    return c.body(null, 204);
  });

  api.get("/threads/:thread_id/runs", async (c) => {
    const page = checked(ListRunsQuery.safeParse(c.req.query()));
    const { who, object } = await openThread(c);
    const runs = (await object.listRuns(who, page)).map((run) => shown(run, who.thread_id));
    return c.json(runs.map((run) => picked(run, c.req.queries("select"))));
  });

  api.get("/threads/:thread_id/runs/:run_id", async (c) => {
    const { who, object } = await openThread(c);
    return c.json(shown(unwrap(await object.run(who, c.req.param("run_id"))), who.thread_id));
  });

  api.delete("/threads/:thread_id/runs/:run_id", async (c) => {
    const { who, object } = await openThread(c);
    unwrap(await object.deleteRun(who, c.req.param("run_id")));
    return c.body(null, 204);
  });

  api.post("/threads/:thread_id/runs/:run_id/cancel", async (c) => {
    const { who, object } = await openThread(c);
    const wait = isTrue(c.req.query("wait"));
    unwrap(await object.cancel(who, c.req.param("run_id"), actionOf(c), wait));
    return c.body(null, wait ? 204 : 202);
  });

  api.get("/threads/:thread_id/runs/:run_id/join", async (c) => {
    const thread = await openThread(c);
    return waited(c, thread, c.req.param("run_id"), isTrue(c.req.query("cancel_on_disconnect")));
  });

  for (const path of ["/threads/:thread_id/runs/:run_id/stream", "/runs/:run_id/stream"] as const)
    api.get(path, async (c) => {
      const { run_id, thread_id = run_id } = c.req.param() as { run_id: string; thread_id?: string };
      const thread = await openThread(c, thread_id);
      return stream(c, thread, run_id, {
        after: lastEventId(c),
        cancelWhenLeft: isTrue(c.req.query("cancel_on_disconnect")),
        modes: modesOf(c),
      });
    });
}
