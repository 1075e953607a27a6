/**
 * A process's output as server-sent events. The guest keeps the output; each reader has only a cursor and asks for what
 * follows it, so a restart of any part on the way is a question asked again.
 *
 * @module
 */
import { ERRORS, type ProcessOutput } from "@sandbar/shared";
import type { Answer } from "../answer.ts";
import { RECHECK_MS } from "../auth.ts";
import { sseEvent } from "../session/sse.ts";
import { ending } from "./record.ts";

const WAIT_MS = 15_000;
const RETRY_MS = 1_000;
/** Between two answers, so that a chatty process becomes some events a second and not a thousand questions. */
const PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 250;
/** A request may ask only so many questions on Cloudflare; the reader comes back with Last-Event-ID. */
const POLL_LIMIT = 900;

export interface ProcessReader {
  output(after: number, waitMs: number): Promise<Answer<ProcessOutput>>;
  /** Whether the session lives, asked when its host does not answer or says that it cannot. */
  alive(): Promise<boolean>;
  /** Whether whoever reads still may, asked every few seconds. */
  allowed(): Promise<boolean>;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function processEvents(
  reader: ProcessReader,
  after: number,
  first: ProcessOutput,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let cursor = after;
  let ready: ProcessOutput | null = first;
  let preamble = `retry: ${RETRY_MS}\n\n`;
  let streak = 0;
  let polls = 0;
  let cancelled = false;
  const refused = Promise.withResolvers<null>();
  const checks = setInterval(async () => {
    if (!(await reader.allowed())) refused.resolve(null);
  }, RECHECK_MS);

  async function next(): Promise<{ text: string; done: boolean }> {
    const asked = Date.now();
    const answer = ready ? { value: ready } : await reader.output(cursor, WAIT_MS);
    ready = null;
    if ("failure" in answer) {
      const alive = await reader.alive();
      if (alive && ERRORS[answer.failure.code].retryable) {
        await sleep(RETRY_MS);
        return { text: ": waiting for the host\n\n", done: false };
      }
      const reason = alive ? answer.failure.code : "SESSION_ENDED";
      const gone = { exit_code: null, signal: null, oom_killed: false, reason };
      return { text: sseEvent(cursor + 1, "exit", gone), done: true };
    }
    const { text, done } = written(answer.value, cursor);
    cursor = Math.max(cursor, answer.value.entries.at(-1)?.seq ?? cursor + answer.value.missed);
    if (answer.value.more) streak = 0;
    else streak = Date.now() - asked > LONGEST_PAUSE_MS ? 1 : streak + 1;
    return { text: text || (done ? "" : ": keep-alive\n\n"), done };
  }

  return new ReadableStream({
    async pull(controller) {
      if (streak > 0) await sleep(Math.min(LONGEST_PAUSE_MS, PAUSE_MS * streak));
      if (cancelled) return;
      const { text, done } = (await Promise.race([next(), refused.promise])) ?? { text: "", done: true };
      if (cancelled) return;
      if (preamble || text) controller.enqueue(encoder.encode(preamble + text));
      preamble = "";
      if (!done && ++polls < POLL_LIMIT) return;
      clearInterval(checks);
      controller.close();
    },
    cancel() {
      cancelled = true;
      clearInterval(checks);
    },
  });
}

function written(output: ProcessOutput, after: number): { text: string; done: boolean } {
  let text = "";
  if (output.missed > 0) text += sseEvent(after + output.missed, "dropped", { count: output.missed });
  for (const { seq, stream, text: chunk } of output.entries) text += sseEvent(seq, stream, { text: chunk });
  // Whoever has seen the end before does not see it twice.
  if (output.exit && output.last_seq > after) text += sseEvent(output.last_seq, "exit", ending(output.exit));
  return { text, done: output.exit !== null };
}
