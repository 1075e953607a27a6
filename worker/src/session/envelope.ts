/** @module A command on its way from a session to its host. */
import type { Cause, Command, CreateExecution } from "@sandbar/shared";
import type { ExecutionRow } from "./journal.ts";
import type { SessionRecord } from "./record.ts";

export interface Envelope {
  /** Names the command's purpose: sending it again while it waits in the outbox changes nothing. */
  readonly dedupe: string;
  readonly command: Command & { readonly cause?: Cause | undefined };
  /** It was given out before, so the host may have it although nobody remembers. */
  readonly again?: boolean;
}

/** As it rests in the journal: with the request that asked for it. */
export type CausedExecution = CreateExecution & { readonly cause?: Cause | undefined };

export function runEnvelope(
  { spec }: SessionRecord,
  { id, context, language }: Pick<ExecutionRow, "id" | "context" | "language">,
  request: CausedExecution,
): Envelope {
  return {
    dedupe: `run:${id}`,
    command: {
      type: "run",
      execution: id,
      context,
      language,
      code: request.code,
      env: request.env ?? {},
      stdin: request.stdin ?? null,
      timeout_ms: Math.max(1, Math.round((request.timeout_s ?? spec.limits.timeout_s) * 1000)),
      ...(request.cause && { cause: request.cause }),
    },
  };
}
