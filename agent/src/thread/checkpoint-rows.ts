/**
 * Which checkpoints are kept. Each holds the whole state, so of a run that is over only three stay: before its question,
 * to branch from when that is edited; after it, to have it answered anew; and its result. Clients look for them in the
 * newest ten states of a history, as LangGraph's own server shows them.
 *
 * @module
 */

/** Of all checkpoints; the oldest go first. */
const KEEP_BYTES = 32 * 1024 * 1024;

/** Where it stands in the thread's tree, without what is in it. */
export interface CheckpointPoint {
  readonly checkpoint_id: string;
  readonly parent_checkpoint_id: string | null;
  readonly run_id: string | null;
  /** `input`: before a question; `loop`: after a step; `update`, `fork`: made by hand. */
  readonly source: string | null;
}

type Row = {
  ns: string;
  id: string;
  parent: string | null;
  run_id: string | null;
  source: string | null;
  bytes: number;
};

export class CheckpointRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Whether a run has come so far that it is resumed, not begun. */
  hasRun(run_id: string): boolean {
    return this.#sql.exec("SELECT 1 FROM checkpoints WHERE run_id = ? LIMIT 1", run_id).toArray().length > 0;
  }

  has(id: string): boolean {
    return this.#sql.exec("SELECT 1 FROM checkpoints WHERE ns = '' AND id = ?", id).toArray().length > 0;
  }

  get empty(): boolean {
    return this.#sql.exec("SELECT 1 FROM checkpoints LIMIT 1").toArray().length === 0;
  }

  /** All that are kept, oldest first. */
  points(): CheckpointPoint[] {
    return this.#sql
      .exec<Record<keyof CheckpointPoint, string>>(
        `SELECT id AS checkpoint_id, parent AS parent_checkpoint_id, run_id, metadata ->> '$.source' AS source
         FROM checkpoints WHERE ns = '' ORDER BY id`,
      )
      .toArray();
  }

  /** As if the run had never been. */
  rollBack(run_id: string): void {
    for (const row of this.#rows().filter((candidate) => candidate.run_id === run_id)) this.#remove(row);
  }

  /** Answers to questions of a run that has failed: LangGraph would take them in the place of any later one. */
  forgetAnswers(): void {
    this.#sql.exec("DELETE FROM writes WHERE channel = '__resume__'");
  }

  keepLatest(): void {
    for (const row of this.#rows().slice(0, -1)) this.#remove(row);
  }

  /** Between runs. */
  prune(): void {
    const rows = this.#rows();
    const removed = new Set<string>();
    const byRun = Map.groupBy(rows, ({ run_id }) => run_id);
    for (const [run, made] of byRun)
      if (run !== null)
        for (const [at, row] of made.slice(0, -1).entries()) {
          if (row.source !== "loop" || made[at - 1]?.source === "input") continue;
          this.#remove(row);
          removed.add(row.id);
        }
    let bytes = rows.reduce((sum, row) => sum + (removed.has(row.id) ? 0 : row.bytes), 0);
    for (const row of rows.slice(0, -1)) {
      if (bytes <= KEEP_BYTES) break;
      if (removed.has(row.id)) continue;
      this.#remove(row);
      bytes -= row.bytes;
    }
  }

  #rows(): Row[] {
    return this.#sql
      .exec<Row>(
        "SELECT ns, id, parent, run_id, metadata ->> '$.source' AS source, bytes FROM checkpoints ORDER BY id",
      )
      .toArray();
  }

  /** What came after it comes after what was before it. */
  #remove({ ns, id }: Row): void {
    this.#sql.exec(
      `UPDATE checkpoints SET parent = (SELECT parent FROM checkpoints WHERE ns = ?1 AND id = ?2)
       WHERE ns = ?1 AND parent = ?2`,
      ...[ns, id],
    );
    this.#sql.exec("DELETE FROM checkpoints WHERE ns = ? AND id = ?", ns, id);
    this.#sql.exec("DELETE FROM writes WHERE ns = ? AND checkpoint_id = ?", ns, id);
    this.#sql.exec("DELETE FROM big_text WHERE owner = ?", `checkpoint/${ns}/${id}`);
    this.#sql.exec("DELETE FROM big_text WHERE owner LIKE ?", `write/${ns}/${id}/%`);
  }
}
