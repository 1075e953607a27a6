/**
 * The wire between agent-host and the guest in a container: one JSON object a line over a UNIX socket.
 * Everything a guest says is untrusted: bounded before it is parsed, checked here, ids looked up by the daemon.
 *
 * @module
 */
import { z } from "zod";
import { KernelEventSchema, TotalsSchema } from "../api/execution.ts";
import { LanguageSchema } from "../api/session.ts";
import { DigestSchema } from "./ingest.ts";

export const GUEST_PROTOCOL_VERSION = 1;

const seq = z.number().int().positive();
/** Ids and contexts' names: all of them are ours. */
const name = z.string().max(128);

/** How a process ended, as the guest saw it. */
export const ExitSchema = z.object({
  exit_code: z.number().int().nullable(),
  signal: z.number().int().nullable(),
  oom: z.boolean(),
});
export type Exit = z.infer<typeof ExitSchema>;

/** A context's variables went while no code ran in it: when, and how its kernel ended or what else was the matter. Absent from older guests. */
export const LostSchema = z
  .object({
    at: z.number().int().nonnegative().max(8.64e15),
    exit: ExitSchema.nullable(),
    detail: z.string().max(900).optional(),
  })
  .nullish();
export type Lost = NonNullable<z.infer<typeof LostSchema>>;

export const ArtifactEntrySchema = z.object({
  /** Path below /session/artifacts, bytes in base64: names need not be UTF-8. */
  path_b64: z.string(),
  size: z.number().int().nonnegative(),
  mtime_ns: z.string().max(32),
  ctime_ns: z.string().max(32),
  /** `directory`: one that cannot be read. */
  kind: z.enum(["file", "directory", "symlink", "fifo", "socket", "device"]),
  /** Of small files: lets the daemon ask about them while it reads them. Not believed. */
  sha256: DigestSchema.optional(),
});
export type ArtifactEntry = z.infer<typeof ArtifactEntrySchema>;

export const GuestEventSchema = z.discriminatedUnion("type", [
  ...KernelEventSchema.options,
  z.object({
    type: z.literal("done"),
    seq,
    /** `died`: the kernel process ended before it answered. */
    status: z.enum(["ok", "error", "interrupted", "died"]),
    exit_code: z.number().int().nullable(),
    exit: ExitSchema.nullable(),
    totals: TotalsSchema,
    artifacts: z.array(ArtifactEntrySchema).max(10_000).default([]),
    /** There are more than one message holds. */
    artifacts_more: z.boolean().default(false),
    /** What was wrong with the folder itself. */
    artifacts_skipped: z
      .array(z.object({ name: z.string().max(4096), reason: z.string().max(1000) }))
      .max(16)
      .default([]),
    /** Before this execution began; said by the first one that follows. */
    lost: LostSchema,
    /** Of `died`: what the sandbox had run out of. */
    shortage: z
      .object({ code: z.enum(["PROCESS_LIMIT", "STORAGE_FULL", "OOM_KILLED"]), detail: z.string().max(1000) })
      .optional(),
  }),
]);
export type GuestEvent = z.infer<typeof GuestEventSchema>;

export const GuestMessageSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hello"),
    v: z.number(),
    /** The secret of an earlier `welcome`; absent on the guest's very first connection. */
    token: z.string().max(128).optional(),
    languages: z.array(LanguageSchema).max(16),
    contexts: z
      .array(
        z.object({
          context: name,
          language: LanguageSchema,
          state: z.enum(["starting", "ready", "dead"]),
          lost: LostSchema,
        }),
      )
      .max(256),
    executions: z
      .array(z.object({ execution: name, last_seq: z.number().int().nonnegative(), done: z.boolean() }))
      .max(20_000),
  }),
  z.object({ type: z.literal("event"), execution: name, event: GuestEventSchema }),
  z.object({
    type: z.literal("context"),
    context: name,
    state: z.enum(["starting", "ready", "dead"]),
    detail: z.string().max(8000).default(""),
    /** As long as no execution has said so. */
    lost: LostSchema,
  }),
  /** Output that came after its execution ended, or outside any. */
  z.object({
    type: z.literal("late"),
    context: name,
    stream: z.enum(["stdout", "stderr"]),
    text: z.string(),
  }),
  z.object({
    type: z.literal("answer"),
    id: name,
    result: z.unknown().optional(),
    error: z.string().optional(),
    code: z.string().optional(),
  }),
]);
export type GuestMessage = z.infer<typeof GuestMessageSchema>;

/** The first and only line of a connection that carries one transfer's bytes. */
export const GuestTransferSchema = z.object({
  type: z.literal("transfer"),
  token: z.string().max(128),
  transfer: z.string().max(64),
});

/** The first line of a connection that code in the sandbox made to the proxy on its loopback. */
export const GuestProxySchema = z.object({ type: z.literal("proxy"), token: z.string().max(128) });

export type DaemonMessage =
  | { type: "welcome"; token: string }
  | { type: "context.open"; context: string; language: string; env: Record<string, string> }
  /** For a kernel that was started before its session was known. */
  | { type: "context.env"; context: string; env: Record<string, string> }
  | { type: "context.restart"; context: string }
  | { type: "context.close"; context: string }
  | {
      type: "run";
      execution: string;
      context: string;
      language: string;
      code: string;
      env: Record<string, string>;
      stdin: string | null;
      stream_limit: number;
      mime_value_limit: number;
      mime_total_limit: number;
    }
  | { type: "interrupt"; execution: string }
  /** SIGKILL to the kernel's process group; the guest then reports `done` with `died` and starts a new kernel. */
  | { type: "kill"; execution: string }
  /** Events of this execution up to `seq` need not be kept; `final` also forgets the execution. */
  | { type: "ack"; execution: string; seq: number; final: boolean }
  /** Send the execution's kept events after `seq` again. */
  | { type: "replay"; execution: string; seq: number }
  | { type: "call"; id: string; method: string; params: Record<string, unknown> }
  | { type: "shutdown" };
