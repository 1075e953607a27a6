/** @module Clients that never give up on a key: one for each session, one operation after another. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Execution, Problem } from "@sandbar/shared";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import type { Answer, Operation, Recorded } from "./history.ts";

/** A request that got no answer is made again with the same key for so long. */
const PATIENCE_MS = 120_000;
const AGAIN_MS = 200;
/** Refusals after which the same call may go well later. */
const LATER = new Set([408, 429, 500, 502, 503, 504]);

export async function operate(
  client: Client,
  session: string,
  code: (name: string) => string,
  done: () => boolean,
  took: number[],
): Promise<Operation[]> {
  const operations: Operation[] = [];
  for (let n = 0; !done(); n++) {
    const name = `${session}-${n}`;
    const began = performance.now();
    const answer = await ask(client, session, name, code(name));
    took.push(performance.now() - began);
    operations.push({ session, name, answer });
    if (answer.is === "refused") break;
  }
  return operations;
}

async function ask(client: Client, session: string, name: string, code: string): Promise<Answer> {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    try {
      const { status, body } = await client.call<
        Pick<Execution, "status" | "stdout"> & Pick<Problem, "code" | "retryable">
      >("POST", `/v1/sessions/${session}/executions`, { code, timeout_s: 60 }, { "idempotency-key": name });
      if (status === 200) return { is: "done", status: body.status, stdout: body.stdout };
      if (!LATER.has(status) && body.retryable === false) return { is: "refused", code: body.code };
    } catch {
      // Nobody knows whether it arrived; the key does.
    }
    await sleep(AGAIN_MS);
  }
  return { is: "unknown" };
}

/** All that the session has on record, the oldest first; `nameOf` finds the operation in the code. */
export async function journalOf(
  client: Client,
  session: string,
  nameOf: (code: string) => string,
): Promise<Recorded[]> {
  const all: Recorded[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: { data: Execution[]; next_cursor: string | null } = await client.ok(
      "GET",
      `/v1/sessions/${session}/executions?limit=100${cursor ? `&cursor=${cursor}` : ""}`,
    );
    for (const { id, status, code } of page.data)
      all.unshift({ execution: id, status, operation: nameOf(code ?? "") });
    if (!page.next_cursor) return all;
    cursor = page.next_cursor;
  }
}
