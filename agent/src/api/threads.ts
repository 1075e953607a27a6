/** @module `/threads`: threads, their state and their history. */
import { type AgentCall, SandbarError } from "@sandbar/shared";
import { unwrap } from "@sandbar/worker/src/answer.ts";
import { remote } from "@sandbar/worker/src/rpc.ts";
import type { Context } from "hono";
import {
  addThread,
  countThreads,
  findThread,
  patchThread,
  removeThread,
  searchThreads,
  type ThreadRow,
} from "../db/threads.ts";
import type { Env } from "../env.ts";
import { doorClient } from "../thread/door-client.ts";
import type { ThreadObject, ThreadSummary, Who } from "../thread/object.ts";
import type { ThreadCursor } from "../thread/thread-stream.ts";
import { type Api, type ApiEnv, body, checked, EVENT_STREAM, jsonText, picked } from "./request.ts";
import {
  CountThreadsSchema,
  CreateThreadSchema,
  HistorySchema,
  JoinThreadQuery,
  PatchThreadSchema,
  PruneThreadsSchema,
  SearchThreadsSchema,
  StateAtSchema,
  ThreadIdSchema,
  UpdateStateSchema,
} from "./shapes.ts";

export interface OpenThread {
  readonly who: Who;
  readonly row: ThreadRow;
  readonly object: ThreadObject;
}

const threadObject = (env: Env, { tenant, thread_id }: Who) =>
  remote<ThreadObject>(() => env.THREADS.getByName(`${tenant}/${thread_id}`));

/** The caller's thread; another tenant's is missing. */
export async function openThread(
  c: Context<ApiEnv>,
  thread_id = c.req.param("thread_id") ?? "",
): Promise<OpenThread> {
  const { tenant } = c.env.CALL.caller;
  const row = await findThread(c.env.DB, tenant, thread_id);
  if (!row) throw new SandbarError("NOT_FOUND", "No such thread");
  const who = { tenant, thread_id };
  return { who, row, object: threadObject(c.env, who) };
}

/** Null when there is one of this id. */
export async function makeThread(
  env: Env,
  { caller }: AgentCall,
  thread_id: string,
  metadata: Record<string, unknown>,
): Promise<OpenThread | null> {
  checked(ThreadIdSchema.safeParse(thread_id));
  const row = await addThread(env.DB, caller.tenant, thread_id, metadata);
  if (!row) return null;
  const who = { tenant: caller.tenant, thread_id };
  return { who, row, object: threadObject(env, who) };
}

/** What a list shows is what D1 knows: values are asked of the thread itself. */
const listed = (row: ThreadRow) => ({ ...row, config: {}, values: null, interrupts: {} });

function whole(row: ThreadRow, { status, values, interrupts, error }: ThreadSummary) {
  return {
    ...row,
    status,
    config: {},
    values: values === null ? null : JSON.parse(values),
    interrupts: JSON.parse(interrupts),
    error: error?.message ?? null,
  };
}

async function deleteThread(c: Context<ApiEnv>, { who, object }: OpenThread): Promise<void> {
  await object.remove(who);
  // Its sandbox has no other use; artifacts stay.
  const origin = new URL(c.req.url).origin;
  const sandbar = doorClient(c.env, { key_id: c.env.CALL.caller.key_id, origin });
  await (await sandbar.findSession(who.thread_id))?.stop();
  await removeThread(c.env.DB, who.tenant, who.thread_id);
}

/** Null from now on; `-` from the beginning of what is kept. */
function threadCursor(given: string | null): ThreadCursor | null {
  if (given === null || given === "") return null;
  if (given === "-" || given === "0") return { run: 0, id: 0 };
  const [, run, id] = /^(\d{1,15})-(\d{1,15})$/.exec(given) ?? [];
  if (run === undefined)
    throw new SandbarError("VALIDATION_FAILED", "Last-Event-ID must be the id of an event");
  return { run: Number(run), id: Number(id) };
}

export function threadRoutes(api: Api): void {
  api.post("/threads", async (c) => {
    const { thread_id, metadata, if_exists } = await body(c, CreateThreadSchema);
    const id = thread_id ?? crypto.randomUUID();
    const made = await makeThread(c.env, c.env.CALL, id, metadata ?? {});
    if (made) return c.json(listed(made.row));
    if (if_exists !== "do_nothing") throw new SandbarError("THREAD_EXISTS", `The thread ${id} exists`);
    const { who, row, object } = await openThread(c, id);
    return c.json(whole(row, await object.summary(who)));
  });

  api.post("/threads/search", async (c) => {
    const wanted = await body(c, SearchThreadsSchema);
    const { limit, offset, sort_by, sort_order, metadata, status, ids, select } = wanted;
    const filter = { metadata: metadata ?? {}, status: status ?? undefined, ids: ids ?? undefined };
    const page = {
      limit,
      offset,
      sort_by: sort_by ?? "updated_at",
      sort_order: sort_order ?? "desc",
    } as const;
    const rows = await searchThreads(c.env.DB, c.env.CALL.caller.tenant, filter, page);
    if (rows.length === limit) c.header("X-Pagination-Next", String(offset + limit));
    c.header("X-Pagination-Total", String(await countThreads(c.env.DB, c.env.CALL.caller.tenant, filter)));
    return c.json(rows.map((row) => picked(listed(row), select)));
  });

  api.post("/threads/prune", async (c) => {
    const { thread_ids, strategy } = await body(c, PruneThreadsSchema);
    let pruned_count = 0;
    for (const id of new Set(thread_ids)) {
      const thread = await openThread(c, id).catch(() => null);
      if (!thread) continue;
      if (strategy === "delete") await deleteThread(c, thread);
      else await thread.object.keepLatest(thread.who);
      pruned_count++;
    }
    return c.json({ pruned_count });
  });

  api.post("/threads/count", async (c) => {
    const { metadata, status } = await body(c, CountThreadsSchema);
    const filter = { metadata: metadata ?? {}, status: status ?? undefined };
    return c.json(await countThreads(c.env.DB, c.env.CALL.caller.tenant, filter));
  });

  api.get("/threads/:thread_id", async (c) => {
    const { who, row, object } = await openThread(c);
    return c.json(whole(row, await object.summary(who)));
  });

  api.patch("/threads/:thread_id", async (c) => {
    const { metadata } = await body(c, PatchThreadSchema);
    const { who, object } = await openThread(c);
    const row = await patchThread(c.env.DB, who.tenant, who.thread_id, metadata ?? {});
    if (!row) throw new SandbarError("NOT_FOUND", "No such thread");
    return c.json(whole(row, await object.summary(who)));
  });

  api.delete("/threads/:thread_id", async (c) => {
    await deleteThread(c, await openThread(c));
    return c.body(null, 204);
  });

  api.post("/threads/:thread_id/copy", async (c) => {
    const { who, row, object } = await openThread(c);
    const { title, ...metadata } = row.metadata;
    const made = await makeThread(c.env, c.env.CALL, crypto.randomUUID(), {
      ...metadata,
      ...(title ? { title } : {}),
    });
    await made!.object.takeCopy(made!.who, who.thread_id, await object.copyOf(who));
    return c.json(whole(made!.row, await made!.object.summary(made!.who)));
  });

  api.get("/threads/:thread_id/state", async (c) => {
    const { who, object } = await openThread(c);
    return jsonText(unwrap(await object.state(who, c.req.query("checkpoint_id") ?? null)));
  });

  api.get("/threads/:thread_id/state/:checkpoint_id", async (c) => {
    const { who, object } = await openThread(c);
    return jsonText(unwrap(await object.state(who, c.req.param("checkpoint_id"))));
  });

  api.post("/threads/:thread_id/state/checkpoint", async (c) => {
    const { checkpoint } = await body(c, StateAtSchema);
    const { who, object } = await openThread(c);
    return jsonText(unwrap(await object.state(who, checkpoint.checkpoint_id ?? null)));
  });

  api.post("/threads/:thread_id/state", async (c) => {
    const update = await body(c, UpdateStateSchema);
    const { who, object } = await openThread(c);
    return c.json(unwrap(await object.updateState(who, update)));
  });

  api.post("/threads/:thread_id/history", async (c) => {
    const wanted = await body(c, HistorySchema);
    const { who, object } = await openThread(c);
    return jsonText(await object.history(who, wanted));
  });

  api.get("/threads/:thread_id/stream", async (c) => {
    const { stream_mode } = checked(JoinThreadQuery.safeParse({ stream_mode: c.req.queries("stream_mode") }));
    const after = threadCursor(c.env.CALL.last_event_id);
    const { who, object } = await openThread(c);
    const { key_id } = c.env.CALL.caller;
    const lifecycle = !stream_mode.includes("run_modes");
    const events = await object.streamThread(who, { after, lifecycle, key_id });
    const Location = `/threads/${encodeURIComponent(who.thread_id)}/stream`;
    return new Response(events, { headers: { ...EVENT_STREAM, Location } });
  });

  api.get("/threads/:thread_id/history", async (c) => {
    const { limit = "10", before } = c.req.query();
    const wanted = checked(HistorySchema.safeParse({ limit: Number(limit), before }));
    const { who, object } = await openThread(c);
    return jsonText(await object.history(who, wanted));
  });

  // Not the Platform's: a history without the states, which are the whole conversation in each.
  api.get("/threads/:thread_id/checkpoints", async (c) => {
    const { who, object } = await openThread(c);
    return c.json(await object.points(who));
  });

  api.get("/threads/:thread_id/images/:sha256", async (c) => {
    const { who, object } = await openThread(c);
    const image = await object.image(who, c.req.param("sha256"));
    if (!image) throw new SandbarError("NOT_FOUND", "No such picture");
    const bytes = Uint8Array.from(atob(image.data), (char) => char.charCodeAt(0));
    // Its name is its hash, so it never changes; and it is nobody else's.
    return c.body(bytes, 200, {
      "Content-Type": image.mime,
      "Cache-Control": "private, max-age=31536000, immutable",
      "Content-Security-Policy": "default-src 'none'; sandbox",
    });
  });
}
