/** @module The agent's threads and their runs: LangGraph's REST API, as far as a chat needs it. */
import { mayHaveArrived, SandbarError } from "../errors.ts";
import type { Http } from "../http.ts";
import { newId } from "../new-id.ts";
import { isTransient, sleep } from "../retry.ts";
import { CHAT_MODES, RunStream, type RunStreamOptions } from "./run-stream.ts";
import {
  type CheckpointPoint,
  type ContentPart,
  type Decision,
  isRunOver,
  type NewRun,
  type RunRecord,
  type RunWishes,
  type ThreadMessage,
  type ThreadRecord,
} from "./shapes.ts";

export interface AskOptions extends RunWishes, RunStreamOptions {
  /** Branch off here instead of at the thread's end. */
  checkpointId?: string;
}

const BASE = "/langgraph/threads";
const AGENT = "agent";
/** Of the answer to a request that was cut: it stands with this name among the run's metadata. */
const ASKED_BY = "sandbar_request";

export class Threads {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Its id is also its sandbox's session key. */
  create({ id = newId(), metadata = {} as Record<string, unknown> } = {}): Promise<ThreadRecord> {
    const json = { thread_id: id, metadata, if_exists: "do_nothing" };
    return this.#http.json("POST", BASE, { json, safe: true });
  }

  /** With its messages, and what waits for a human's word. */
  get(id: string): Promise<ThreadRecord> {
    return this.#http.json("GET", at(id));
  }

  /** Newest first, without their messages. */
  list({ limit = 20, offset = 0 } = {}): Promise<ThreadRecord[]> {
    return this.#http.json("POST", `${BASE}/search`, { json: { limit, offset }, safe: true });
  }

  update(id: string, metadata: Record<string, unknown>): Promise<ThreadRecord> {
    return this.#http.json("PATCH", at(id), { json: { metadata }, safe: true });
  }

  /** Its sandbox goes too; artifacts stay. */
  delete(id: string): Promise<void> {
    return this.#http.send("DELETE", at(id));
  }

  /** A question, and the stream of what comes of it. On a thread that is busy it waits for its turn. */
  ask(id: string, content: string | ContentPart[], options: AskOptions = {}): Promise<RunStream> {
    return this.#begin(id, { input: { messages: [{ role: "user", content }] } }, options);
  }

  /** The human's word on each call that waits, in their order. */
  decide(id: string, decisions: Decision[], options: AskOptions = {}): Promise<RunStream> {
    return this.#begin(id, { command: { resume: { decisions } } }, options);
  }

  /** Newest first. */
  runs(id: string, { limit = 10 } = {}): Promise<RunRecord[]> {
    return this.#http.json("GET", `${at(id)}/runs`, { query: { limit } });
  }

  /** The run that is under way, if one is. */
  async running(id: string): Promise<RunRecord | null> {
    return (await this.runs(id)).findLast((run) => !isRunOver(run)) ?? null;
  }

  /** Every checkpoint that is kept, oldest first: the thread's branches. */
  checkpoints(id: string): Promise<CheckpointPoint[]> {
    return this.#http.json("GET", `${at(id)}/checkpoints`);
  }

  /** The messages up to a checkpoint. */
  async messagesAt(id: string, checkpointId: string): Promise<readonly ThreadMessage[]> {
    const path = `${at(id)}/state/${encodeURIComponent(checkpointId)}`;
    const { values } = await this.#http.json<Pick<ThreadRecord, "values">>("GET", path);
    return values?.messages ?? [];
  }

  /** Begins a run and reads nothing of it. On a thread that is busy it waits for its turn. */
  start(id: string, run: NewRun, { signal }: { signal?: AbortSignal } = {}): Promise<RunRecord> {
    const request = newId();
    const json = { ...run, assistant_id: AGENT, metadata: { [ASKED_BY]: request } };
    return this.#once(id, json, request, signal);
  }

  join(id: string, runId: string, options: RunStreamOptions = {}): RunStream {
    return new RunStream(this.#http, id, runId, options);
  }

  /** The bytes behind a picture's link of a message or a result. The key goes nowhere else. */
  async picture(url: string): Promise<Uint8Array> {
    if (!url.startsWith("/langgraph/"))
      throw new SandbarError({ code: "INVALID_URL", detail: `${url} is no picture of a thread` });
    return this.#http.bytes("GET", url);
  }

  async #begin(id: string, what: NewRun, options: AskOptions): Promise<RunStream> {
    const { lastEventId, signal, giveUpAfterMs, onReconnect, modes, checkpointId, ...configurable } = options;
    const run = await this.start(
      id,
      {
        ...what,
        config: { configurable },
        stream_mode: CHAT_MODES,
        ...(checkpointId ? { checkpoint_id: checkpointId } : {}),
      },
      { signal },
    );
    return this.join(id, run.run_id, { lastEventId, signal, giveUpAfterMs, onReconnect, modes });
  }

  /** A request whose answer was lost is looked for before it is sent again: nothing is asked twice. */
  async #once(id: string, json: object, request: string, signal?: AbortSignal): Promise<RunRecord> {
    const path = `${at(id)}/runs`;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#http.json<RunRecord>("POST", path, { json, signal, safe: false });
      } catch (error) {
        signal?.throwIfAborted();
        const { attempts, baseMs } = this.#http.retry;
        if (!(error instanceof SandbarError && isTransient(error)) || attempt + 1 >= attempts) throw error;
        await sleep(baseMs * 2 ** attempt, signal);
        if (!mayHaveArrived(error)) continue;
        const found = (await this.runs(id)).find(({ metadata }) => metadata[ASKED_BY] === request);
        if (found) return found;
      }
    }
  }
}

const at = (id: string) => `${BASE}/${encodeURIComponent(id)}`;
