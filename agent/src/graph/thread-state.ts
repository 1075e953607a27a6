/** @module A thread's state and history as the Platform shows them. */
import { SandbarError } from "@sandbar/shared";
import type { History, UpdateState } from "../api/shapes.ts";
import type { Images } from "../thread/images.ts";
import { stateGraph } from "./agent-graph.ts";
import { ObjectCheckpointer } from "./checkpointer.ts";
import { withLinks } from "./run-graph.ts";
import { toWire } from "./wire.ts";

export interface StateOf {
  readonly sql: SqlStorage;
  readonly threadId: string;
  readonly images: Images;
}

type Config = { configurable?: Record<string, unknown> } | undefined;
interface Snapshot {
  values: unknown;
  next: readonly string[];
  config: Config;
  metadata?: unknown;
  createdAt?: string;
  parentConfig?: Config;
  tasks: readonly {
    id: string;
    name: string;
    error?: unknown;
    interrupts: readonly unknown[];
    result?: unknown;
  }[];
}

const open = ({ sql, threadId, images }: StateOf) =>
  stateGraph(new ObjectCheckpointer(sql, threadId, null), images);

const at = ({ threadId }: StateOf, checkpoint_id: string | null | undefined) => ({
  configurable: { thread_id: threadId, checkpoint_ns: "", ...(checkpoint_id ? { checkpoint_id } : {}) },
});

/** As JSON. */
export async function threadState(of: StateOf, checkpoint_id: string | null): Promise<string> {
  return toWire(shown((await open(of).getState(at(of, checkpoint_id))) as Snapshot, of.threadId));
}

export async function threadHistory(
  of: StateOf,
  { limit, before, metadata, checkpoint }: History,
): Promise<string> {
  const beforeId =
    typeof before === "string"
      ? before
      : ((before as Config)?.configurable?.checkpoint_id ??
        (before as { checkpoint_id?: string })?.checkpoint_id);
  const history = open(of).getStateHistory(at(of, checkpoint?.checkpoint_id), {
    limit,
    ...(beforeId ? { before: at(of, String(beforeId)) } : {}),
    ...(metadata ? { filter: metadata } : {}),
  });
  const states: unknown[] = [];
  for await (const snapshot of history) states.push(shown(snapshot as Snapshot, of.threadId));
  return toWire(states);
}

export async function updateThreadState(
  of: StateOf,
  { values, checkpoint, checkpoint_id, as_node }: UpdateState,
) {
  const config = at(of, checkpoint?.checkpoint_id ?? checkpoint_id);
  const update = withLinks(values ?? null, of.images) as Record<string, unknown>;
  try {
    const made = await open(of).updateState(config, update, as_node ?? undefined);
    const { thread_id, checkpoint_ns = "", checkpoint_id } = (made as Config)?.configurable ?? {};
    const point = { thread_id, checkpoint_ns, checkpoint_id };
    return { checkpoint: point, configurable: point, checkpoint_id };
  } catch (error) {
    if (error instanceof SandbarError) throw error;
    throw new SandbarError("VALIDATION_FAILED", `The state cannot be updated: ${(error as Error).message}`);
  }
}

/** Values and questions of the newest state, for the thread's own record. */
export async function threadValues(
  of: StateOf,
): Promise<{ values: string | null; interrupts: string; waiting: boolean }> {
  const snapshot = (await open(of).getState(at(of, null))) as Snapshot;
  const asked = snapshot.tasks.filter(({ interrupts }) => interrupts.length > 0);
  const values = snapshot.config?.configurable?.checkpoint_id ? snapshot.values : null;
  return {
    values: values === null ? null : toWire(values),
    interrupts: toWire(Object.fromEntries(asked.map(({ id, interrupts }) => [id, interrupts]))),
    waiting: snapshot.next.length > 0,
  };
}

function shown(snapshot: Snapshot, thread_id: string) {
  return {
    values: snapshot.values ?? {},
    next: snapshot.next,
    checkpoint: point(snapshot.config, thread_id),
    metadata: snapshot.metadata ?? {},
    created_at: snapshot.createdAt ?? null,
    parent_checkpoint: snapshot.parentConfig ? point(snapshot.parentConfig, thread_id) : null,
    tasks: snapshot.tasks.map(({ id, name, error, interrupts, result }) => ({
      id,
      name,
      error: error === undefined ? null : error,
      interrupts,
      checkpoint: null,
      state: null,
      ...(result === undefined ? {} : { result }),
    })),
  };
}

function point(config: Config, thread_id: string) {
  const { checkpoint_ns = "", checkpoint_id = null } = config?.configurable ?? {};
  return { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map: null };
}
