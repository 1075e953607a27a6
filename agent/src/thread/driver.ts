/**
 * Carries out the runs of a thread, one after the other. Whatever it does is written down first: when the object dies in
 * the middle, its alarm finds the run again and goes on from its last checkpoint.
 *
 * @module
 */
import { failureOf, SandbarError } from "@sandbar/shared";
import type { Env } from "../env.ts";
import type { CheckpointRows } from "./checkpoint-rows.ts";
import { doorClient } from "./door-client.ts";
import type { EventLog } from "./event-log.ts";
import { Images } from "./images.ts";
import type { Run, Runs } from "./runs.ts";

/** More often than this no crash is by chance. */
const MOST_ATTEMPTS = 20;

export interface DriverParts {
  readonly env: Env;
  readonly sql: SqlStorage;
  readonly runs: Runs;
  readonly log: EventLog;
  readonly checkpoints: CheckpointRows;
  threadId(): string;
  /** Something has ended: whoever waits for it is to be woken. */
  over(run_id: string): void;
}

export class Driver {
  readonly #parts: DriverParts;
  #current: { run_id: string; abort: AbortController } | null = null;

  constructor(parts: DriverParts) {
    this.#parts = parts;
  }

  /** Ends what is being done for the run, if anything is. */
  abort(run_id: string): void {
    if (this.#current?.run_id === run_id)
      this.#current.abort.abort(new DOMException("cancelled", "AbortError"));
  }

  /** Always leaves the run ended. */
  async carryOut(run: Run): Promise<void> {
    const { runs, log } = this.#parts;
    const { run_id } = run;
    const abort = new AbortController();
    this.#current = { run_id, abort };
    let failure: unknown = null;
    try {
      if (run.cancel === null) {
        if (run.attempts >= MOST_ATTEMPTS)
          throw new SandbarError(
            "RUN_FAILED",
            `The run was begun ${run.attempts} times and never came to its end`,
          );
        runs.begin(run_id);
        await this.#run(run, abort.signal);
      }
    } catch (error) {
      failure = error ?? new Error("a run failed and did not say why");
    } finally {
      this.#current = null;
    }
    // Before its end is written down: whoever finds it unfinished ends the code then.
    if (failure !== null || runs.find(run_id)?.cancel) await this.#interruptCode(run);
    this.#end(run_id, failure);
    this.#parts.sql.exec("DELETE FROM executions WHERE run_id = ?", run_id);
    log.prune();
    this.#parts.checkpoints.prune();
  }

  async #run(run: Run, signal: AbortSignal): Promise<void> {
    const { env, sql, log, checkpoints } = this.#parts;
    const { run_id } = run;
    const threadId = this.#parts.threadId();
    const emit = (event: string, data: string) => log.append(run_id, event, data);
    emit("metadata", JSON.stringify({ run_id, thread_id: threadId, attempt: run.attempts + 1 }));
    log.flush();
    const settings = await env.SANDBAR.settings(run.key_id);
    if (!settings)
      throw new SandbarError("UNAUTHENTICATED", "The key that started this run is not good any more");
    // Most objects only show what there is; those need not evaluate the packages.
    const { runGraph } = await import("../graph/run-graph.ts");
    signal.throwIfAborted();
    await runGraph({
      ...{ sql, threadId, run, settings, signal, emit },
      resumed: checkpoints.hasRun(run_id),
      images: new Images(sql, threadId),
      said: run.attempts > 0 ? log.custom(run_id) : [],
      sandbar: doorClient(env, run, {
        begun: (path) => sql.exec("INSERT OR IGNORE INTO executions VALUES (?, ?)", path, run_id),
        interrupted: (path) => sql.exec("DELETE FROM executions WHERE path = ?", path),
      }),
    });
  }

  #end(run_id: string, error: unknown): void {
    const { runs, log, checkpoints } = this.#parts;
    const run = runs.find(run_id);
    if (run?.cancel === "rollback") {
      log.flush();
      log.remove(run_id);
      checkpoints.rollBack(run_id);
      runs.remove(run_id);
    } else if (run?.cancel) {
      log.flush();
      runs.end(run_id, "interrupted");
    } else if (error === null) {
      log.flush();
      runs.end(run_id, "success");
    } else {
      checkpoints.forgetAnswers();
      const told = reason(error);
      log.append(run_id, "error", JSON.stringify(told));
      log.flush();
      runs.end(run_id, "error", told);
    }
    this.#parts.over(run_id);
  }

  /** Of a run that did not end by itself: what its tools have not interrupted, as after a crash. */
  async #interruptCode(run: Run): Promise<void> {
    const rows = this.#parts.sql
      .exec<{ path: string }>("SELECT path FROM executions WHERE run_id = ?", run.run_id)
      .toArray();
    if (rows.length === 0) return;
    const { http } = doorClient(this.#parts.env, run);
    await Promise.all(
      rows.map(({ path }) =>
        http
          .send("POST", `${path}/interrupt`, { safe: true })
          .catch((error) => console.error("could not interrupt", path, error)),
      ),
    );
  }
}

/** LangChain wraps what its middleware throws. */
function reason(error: unknown): { error: string; message: string } {
  for (let inner = error; inner instanceof Error; inner = inner.cause)
    if (inner instanceof SandbarError) return { error: inner.code, message: inner.message };
  if (error instanceof Error && error.name === "GraphRecursionError")
    return { error: "RUN_FAILED", message: "The run took more steps than it may" };
  console.error("a run failed", error);
  const { code, detail } = failureOf(error, "RUN_FAILED");
  return { error: code, message: detail };
}
