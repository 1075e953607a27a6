/** @module An execution's record, with what callers most often want from it. */
import type { Execution as ExecutionRecord, MimeBundle } from "@sandbar/shared";
import { SandbarError } from "./errors.ts";

export type { ExecutionRecord };

export interface ExecutionHelpers {
  readonly succeeded: boolean;
  /** Returns the execution when it ended well; throws ExecutionFailed otherwise. */
  ok(): Execution;
  /** The last image/png of the results. */
  png(): Uint8Array | null;
  /** The last application/json of the results. */
  json<T = unknown>(): T | null;
  /** The last result of a MIME type as it came: text, base64, or a JSON value. */
  result(mime: string): unknown;
}

export type Execution = ExecutionRecord & ExecutionHelpers;

const helpers: ExecutionHelpers & ThisType<Execution> = {
  get succeeded() {
    return (this as unknown as Execution).status === "ok";
  },
  ok() {
    if (this.succeeded) return this;
    throw new ExecutionFailed(this);
  },
  png() {
    const data = this.result("image/png");
    return typeof data === "string" ? bytesFromBase64(data) : null;
  },
  json<T>() {
    return (this.result("application/json") as T) ?? null;
  },
  result(mime) {
    return this.results.findLast((bundle: MimeBundle) => mime in bundle)?.[mime] ?? null;
  },
};

/** The helpers stand on the prototype, so the value prints and serialises as the plain record. */
export function toExecution(record: ExecutionRecord): Execution {
  return Object.assign(Object.create(helpers), record);
}

export class ExecutionFailed extends SandbarError {
  readonly execution: Execution;
  constructor(execution: Execution) {
    const { status, error, id, state } = execution;
    const why = state.reason ? `: ${state.reason}` : "";
    const reason = error ? `${error.name}: ${error.value}` : `it ended as ${status}`;
    super({
      code: status === "error" ? "EXECUTION_ERROR" : (error?.name ?? `EXECUTION_${status.toUpperCase()}`),
      detail: `${reason} (variables ${state.variables}${why}, files ${state.files})`,
      retryable: error?.name === "HOST_LOST",
      executionId: id,
    });
    this.name = "ExecutionFailed";
    this.execution = execution;
  }
}

export function isTerminal(record: Pick<ExecutionRecord, "status">): boolean {
  return record.status !== "queued" && record.status !== "running";
}

function bytesFromBase64(text: string): Uint8Array {
  const binary = atob(text.replace(/\s/g, ""));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
