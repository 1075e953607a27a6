/**
 * Which checkpoints are kept. Each holds the whole state, so of a run that is over only its first and its last stay:
 * the one to branch from when its question is edited, and its result.
 *
 * @module
 */

/** Of all checkpoints; the oldest go first. */
const KEEP_BYTES = 32 * 1024 * 1024;

type Row = { ns: string; id: string; parent: string | null; run_id: string | null; bytes: number };

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

  /** As if the run had never been. */
  rollBack(run_id: string): void {
    for (const row of this.#rows().filter((candidate) => candidate.run_id === run_id)) this.#remove(row);
  }

  prune(): void {
    const rows = this.#rows();
    const newestRun = rows.at(-1)?.run_id ?? null;
    const removed = new Set<string>();
    const byRun = Map.groupBy(rows, ({ run_id }) => run_id);
    for (const [run, made] of byRun)
      if (run !== null && run !== newestRun)
        for (const row of made.slice(1, -1)) {
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
    return this.#sql.exec<Row>("SELECT ns, id, parent, run_id, bytes FROM checkpoints ORDER BY id").toArray();
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
