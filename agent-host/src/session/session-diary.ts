/**
 * What a BIND session leaves in its folder for people to read: `session.log`, `session_metadata.json`,
 * `python_state.json`. All of it is a courtesy: nothing waits for it, and nothing fails because of it.
 *
 * @module
 */
import {
  type ContextState,
  cut,
  foldEvents,
  type GuestEvent,
  type KernelEvent,
  type MimeBundle,
  type Outcome,
  readJson,
  SandbarError,
} from "@sandbar/shared";
import { z } from "zod";
import { SessionFolder } from "../box/session-folder.ts";
import type { Log } from "../host/log.ts";
import type { ExecutionRow, SessionRow } from "../journal/journal.ts";

const LOG_FILE = "session.log";
const METADATA_FILE = "session_metadata.json";
/** What users know it as; it holds the variables of whichever kernel was last idle: Python's, Node's or R's. */
const KERNEL_STATE_FILE = "python_state.json";
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const METADATA_LIMIT_BYTES = 1024 * 1024;
const CODE_LIMIT = 100_000;
/** What the events of one execution may weigh here; the log's own caps are below. */
const GATHER_LIMIT_CHARS = 400_000;
/** A kernel is asked for its state only after so much quiet. */
const QUIET_MS = 100;
const WAITING_LIMIT = 500;

const CountsSchema = z.object({
  created_at: z.iso.datetime(),
  executions: z.record(z.string().max(32), z.number().int().nonnegative()),
});

export interface DiaryOptions {
  readonly row: SessionRow;
  readonly folder: string;
  readonly log: Log;
  /** The state of an idle context; it may well fail. */
  readonly askState: (context: string) => Promise<ContextState>;
}

interface Gathered {
  readonly events: KernelEvent[];
  last: number;
  chars: number;
}

export class SessionDiary {
  readonly #options: DiaryOptions;
  readonly #folder: SessionFolder;
  readonly #gathered = new Map<string, Gathered>();
  #counts: z.infer<typeof CountsSchema> | null = null;
  #writing: Promise<void> = Promise.resolve();
  #waiting = 0;
  #quiet: NodeJS.Timeout | null = null;

  constructor(options: DiaryOptions) {
    this.#options = options;
    this.#folder = new SessionFolder(options.folder);
  }

  onEvent(execution: string, event: GuestEvent): void {
    if (event.type === "done") return;
    let gathered = this.#gathered.get(execution);
    if (!gathered) {
      gathered = { events: [], last: 0, chars: 0 };
      this.#gathered.set(execution, gathered);
    }
    // Replayed events come a second time.
    if (event.seq <= gathered.last) return;
    gathered.last = event.seq;
    const kept = event.type === "result" ? { ...event, data: textOf(event.data) } : event;
    const chars = JSON.stringify(kept).length;
    // What went wrong is worth more than more output.
    if (gathered.chars + chars > GATHER_LIMIT_CHARS && event.type !== "error") return;
    gathered.chars += chars;
    gathered.events.push(kept);
  }

  onFinished({ id, command, outcome }: ExecutionRow): void {
    if (!outcome) return;
    const events = this.#gathered.get(id)?.events ?? [];
    this.#gathered.delete(id);
    this.#write(async () => {
      const entry = logEntry(id, command, outcome, events);
      await this.#folder.append(LOG_FILE, `${JSON.stringify(entry)}\n`, LOG_LIMIT_BYTES);
      const { executions } = await this.#loadCounts();
      executions[outcome.status] = (executions[outcome.status] ?? 0) + 1;
      await this.#saveMetadata();
    });
    if (this.#quiet) clearTimeout(this.#quiet);
    if (command.language !== "bash" && (outcome.state.variables === "kept" || outcome.state.lost_at))
      this.#quiet = setTimeout(() => this.#keepKernelState(command.context, command.language), QUIET_MS);
  }

  onState(): void {
    if (this.#quiet && this.#options.row.state !== "ready") clearTimeout(this.#quiet);
    this.#write(() => this.#saveMetadata());
  }

  /** When all is written that was to be written so far. */
  async written(): Promise<void> {
    await this.#writing;
  }

  #keepKernelState(context: string, language: string): void {
    this.#write(async () => {
      const state = await this.#options.askState(context);
      const kept = { time: new Date().toISOString(), context, language, ...state };
      await this.#folder.replace(KERNEL_STATE_FILE, `${JSON.stringify(kept, null, 2)}\n`);
    });
  }

  async #saveMetadata(): Promise<void> {
    const { row } = this.#options;
    const { created_at, executions } = await this.#loadCounts();
    const { env, dataset_access, ...spec } = row.spec;
    const metadata = {
      session_id: row.id,
      tenant: row.tenant,
      status: row.state,
      ...spec,
      image: row.report.state === "ready" ? row.report.image : spec.image,
      datasets: dataset_access,
      // Values may be secrets.
      env: Object.keys(env),
      container: row.sandbox,
      executions,
      created_at,
      updated_at: new Date().toISOString(),
    };
    await this.#folder.replace(METADATA_FILE, `${JSON.stringify(metadata, null, 2)}\n`);
  }

  /** An earlier daemon may have counted already. */
  async #loadCounts(): Promise<z.infer<typeof CountsSchema>> {
    if (this.#counts) return this.#counts;
    const text = await this.#folder.read(METADATA_FILE, METADATA_LIMIT_BYTES);
    const parsed = CountsSchema.safeParse(readJson(text ?? "null"));
    this.#counts ??= parsed.success ? parsed.data : { created_at: new Date().toISOString(), executions: {} };
    return this.#counts;
  }

  #write(work: () => Promise<void>): void {
    if (this.#waiting >= WAITING_LIMIT) return;
    this.#waiting++;
    this.#writing = this.#writing.then(work).then(
      () => void this.#waiting--,
      (error) => {
        this.#waiting--;
        if (!(error instanceof SandbarError)) this.#options.log.debug({ err: error }, "diary not written");
      },
    );
  }
}

function logEntry(id: string, command: ExecutionRow["command"], outcome: Outcome, events: KernelEvent[]) {
  const folded = foldEvents(events, outcome);
  const { started_at, finished_at } = outcome;
  return {
    time: new Date(finished_at).toISOString(),
    execution_id: id,
    context: command.context,
    language: command.language,
    code: cut(command.code, CODE_LIMIT),
    status: outcome.status,
    duration_ms: started_at === null ? null : Math.max(0, finished_at - started_at),
    stdout: folded.stdout,
    stderr: folded.stderr,
    result: folded.text,
    error: folded.error,
    exit_code: outcome.exit_code,
    truncated: folded.truncated,
    artifacts: outcome.artifacts.map(({ id, name, size, sha256 }) => ({ id, name, size, sha256 })),
    artifacts_skipped: outcome.artifacts_skipped,
  };
}

/** Pictures belong into artifacts, not into a log. */
function textOf(data: MimeBundle): MimeBundle {
  return { "text/plain": data["text/plain"] };
}
