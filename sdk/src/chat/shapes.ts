/** @module Threads, messages, runs and their events, as the agent's API says them. */
import type { Artifact, ExecutionError, MimeBundle } from "@sandbar/shared";

export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

export interface ThreadRecord {
  readonly thread_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly metadata: { readonly title?: string; readonly [name: string]: unknown };
  readonly status: ThreadStatus;
  /** Null in lists, and before the first run. */
  readonly values: { readonly messages?: readonly ThreadMessage[] } | null;
  /** What waits for a human's word, by task. */
  readonly interrupts: Readonly<Record<string, readonly Interrupt[]>>;
  readonly error?: string | null;
}

export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } | string }
  | { readonly type: string; readonly [name: string]: unknown };

export interface ToolCall {
  readonly id?: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface ThreadMessage {
  readonly type: string;
  readonly id?: string;
  readonly content: string | readonly ContentPart[];
  readonly tool_calls?: readonly ToolCall[];
  /** Of a part of a message: what has come of its calls' arguments. */
  readonly tool_call_chunks?: readonly {
    readonly id?: string;
    readonly name?: string;
    readonly args?: string;
    readonly index?: number;
  }[];
  readonly tool_call_id?: string;
  readonly status?: string;
  readonly additional_kwargs?: Readonly<Record<string, unknown>>;
  /** Of a tool's answer. */
  readonly artifact?: {
    readonly session_id?: string;
    readonly execution_id?: string;
    readonly status?: string;
    readonly language?: string;
    readonly duration_ms?: number | null;
    readonly artifacts?: readonly Artifact[];
  } | null;
}

/** A call that waits for a human's word. */
export interface ActionRequest {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface Interrupt {
  readonly id?: string;
  readonly value?: { readonly actionRequests?: readonly ActionRequest[] };
}

export type Decision =
  | { readonly type: "approve" }
  | { readonly type: "reject"; readonly message?: string }
  | { readonly type: "edit"; readonly editedAction: ActionRequest };

export type RunStatus = "pending" | "running" | "error" | "success" | "timeout" | "interrupted";

export interface RunRecord {
  readonly run_id: string;
  readonly thread_id: string;
  readonly created_at: string;
  readonly status: RunStatus;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly error?: RunError;
  /** Of a run that waits: its question is in no state yet. */
  readonly kwargs?: { readonly input: { readonly messages?: readonly ThreadMessage[] } | null };
}

/** A checkpoint's place in the tree of a thread, without its state. */
export interface CheckpointPoint {
  readonly checkpoint_id: string;
  readonly parent_checkpoint_id: string | null;
  readonly run_id: string | null;
  /** `input` stands before a question. */
  readonly source: string | null;
}

/** What a run begins with: a question, an answer to one, or nothing, which goes on from where the thread stands. */
export interface NewRun {
  readonly input?: { readonly messages: readonly unknown[] };
  readonly command?: { readonly resume: unknown };
  /** Branch off here instead of at the thread's end. */
  readonly checkpoint_id?: string;
  readonly config?: { readonly configurable: RunWishes };
  /** What it tells; all that a chat may need unless told. */
  readonly stream_mode?: readonly string[];
}

export interface RunError {
  /** A code of the error table. */
  readonly error: string;
  readonly message: string;
}

export interface RunEvent {
  readonly id: string;
  /** `metadata`, `messages`, `updates`, `values`, `custom`, `error`, … */
  readonly event: string;
  readonly data: unknown;
}

/** What code says while it runs, and how asking the model goes. */
export type AgentEvent =
  | (OfCall & { readonly type: "started" })
  | (OfCall & { readonly type: "stdout" | "stderr"; readonly text: string })
  | (OfCall & { readonly type: "result"; readonly data: MimeBundle & { readonly url?: string } })
  | (OfCall & { readonly type: "artifact"; readonly artifact: Artifact })
  | (OfCall & { readonly type: "error"; readonly error: ExecutionError })
  | (OfCall & {
      readonly type: "finished";
      readonly execution_id: string;
      readonly status: string;
      /** In which it ran. */
      readonly language?: string;
      readonly duration_ms: number | null;
    })
  | ({ readonly type: "model_retry" } & ModelRetry);

interface OfCall {
  readonly tool_call_id?: string;
  readonly session_id: string;
}

export interface ModelRetry {
  readonly attempt: number;
  readonly status?: number;
  readonly detail: string;
  readonly after_ms: number;
}

/** What a turn may want otherwise than the tenant's settings. */
export interface RunWishes {
  readonly model?: string;
  readonly temperature?: number;
  readonly iterations?: number;
  readonly approval?: boolean;
  readonly read_only?: boolean;
  /** Of a sandbox that does not exist yet, as in `POST /v1/sessions`. */
  readonly session?: Readonly<Record<string, unknown>>;
}

export const isRunOver = ({ status }: Pick<RunRecord, "status">): boolean =>
  status !== "pending" && status !== "running";
