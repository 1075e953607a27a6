/** @module LangGraph's checkpoints in the thread's own SQLite. */
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  copyCheckpoint,
  type PendingWrite,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { loadText, saveText } from "@sandbar/worker/src/session/big-text.ts";

type Row = {
  ns: string;
  id: string;
  parent: string | null;
  checkpoint: string | null;
  metadata: string;
};

/** `runId` marks the checkpoints that a run makes: that there is one tells a run that is resumed from one that begins. */
export class ObjectCheckpointer extends BaseCheckpointSaver {
  readonly #sql: SqlStorage;
  readonly #threadId: string;
  readonly #runId: string | null;

  constructor(sql: SqlStorage, threadId: string, runId: string | null) {
    super();
    this.#sql = sql;
    this.#threadId = threadId;
    this.#runId = runId;
  }

  async getTuple({ configurable = {} }: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const ns: string = configurable.checkpoint_ns ?? "";
    const id: string | undefined = configurable.checkpoint_id;
    const [row] = this.#sql
      .exec<Row>(
        `SELECT ns, id, parent, checkpoint, metadata FROM checkpoints
         WHERE ns = ?1 AND (?2 IS NULL OR id = ?2) ORDER BY id DESC LIMIT 1`,
        ...[ns, id ?? null],
      )
      .toArray();
    return row && this.#tuple(row);
  }

  async *list(
    { configurable = {} }: RunnableConfig,
    { limit, before, filter }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const ids = this.#sql
      .exec<{ ns: string; id: string }>(
        `SELECT ns, id FROM checkpoints
         WHERE (?1 IS NULL OR ns = ?1) AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR id < ?3) ORDER BY id DESC`,
        configurable.checkpoint_ns ?? null,
        configurable.checkpoint_id ?? null,
        before?.configurable?.checkpoint_id ?? null,
      )
      .toArray();
    let left = limit ?? Number.POSITIVE_INFINITY;
    for (const { ns, id } of ids) {
      if (left <= 0) return;
      const tuple = await this.getTuple({ configurable: { checkpoint_ns: ns, checkpoint_id: id } });
      const metadata = tuple?.metadata as Record<string, unknown> | undefined;
      if (!tuple || Object.entries(filter ?? {}).some(([name, value]) => metadata?.[name] !== value))
        continue;
      left--;
      yield tuple;
    }
  }

  async put(
    { configurable = {} }: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    const ns: string = configurable.checkpoint_ns ?? "";
    const { id } = checkpoint;
    const text = await this.#dump(copyCheckpoint(checkpoint));
    const about = await this.#dump(metadata);
    const inline = saveText(this.#sql, owner(ns, id), text);
    this.#sql.exec(
      "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)",
      ...[ns, id, configurable.checkpoint_id ?? null, this.#runId, inline, about, text.length],
    );
    return this.#config(ns, id);
  }

  async putWrites(
    { configurable = {} }: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
  ): Promise<void> {
    const ns: string = configurable.checkpoint_ns ?? "";
    const checkpoint: string = configurable.checkpoint_id;
    const values = await Promise.all(writes.map(([, value]) => this.#dump(value)));
    for (const [position, [channel]] of writes.entries()) {
      const idx = WRITES_IDX_MAP[channel] ?? position;
      // What a task has written stays; marks such as an interrupt may change.
      const how = idx >= 0 ? "IGNORE" : "REPLACE";
      const inline = saveText(this.#sql, writeOwner(ns, checkpoint, taskId, idx), values[position]!);
      this.#sql.exec(
        `INSERT OR ${how} INTO writes VALUES (?, ?, ?, ?, ?, ?)`,
        ...[ns, checkpoint, taskId, idx, channel, inline],
      );
    }
  }

  async deleteThread(): Promise<void> {
    for (const table of ["checkpoints", "writes"]) this.#sql.exec(`DELETE FROM ${table}`);
    this.#sql.exec("DELETE FROM big_text WHERE owner LIKE 'checkpoint/%' OR owner LIKE 'write/%'");
  }

  async #tuple({ ns, id, parent, checkpoint, metadata }: Row): Promise<CheckpointTuple> {
    const text = loadText(this.#sql, owner(ns, id), checkpoint);
    const rows = this.#sql
      .exec<{ task_id: string; idx: number; channel: string; value: string | null }>(
        "SELECT task_id, idx, channel, value FROM writes WHERE ns = ? AND checkpoint_id = ? ORDER BY task_id, idx",
        ...[ns, id],
      )
      .toArray();
    return {
      config: this.#config(ns, id),
      checkpoint: await this.serde.loadsTyped("json", text),
      metadata: await this.serde.loadsTyped("json", metadata),
      ...(parent === null ? {} : { parentConfig: this.#config(ns, parent) }),
      pendingWrites: await Promise.all(
        rows.map(async ({ task_id, idx, channel, value }): Promise<[string, string, unknown]> => {
          const written = loadText(this.#sql, writeOwner(ns, id, task_id, idx), value);
          return [task_id, channel, await this.serde.loadsTyped("json", written)];
        }),
      ),
    };
  }

  #config(checkpoint_ns: string, checkpoint_id: string): RunnableConfig {
    return { configurable: { thread_id: this.#threadId, checkpoint_ns, checkpoint_id } };
  }

  async #dump(value: unknown): Promise<string> {
    const [, bytes] = await this.serde.dumpsTyped(value);
    return new TextDecoder().decode(bytes);
  }
}

const owner = (ns: string, id: string) => `checkpoint/${ns}/${id}`;
const writeOwner = (ns: string, checkpoint: string, task: string, idx: number) =>
  `write/${ns}/${checkpoint}/${task}/${idx}`;
