/** @module Long-running commands of a session, with and without a terminal, and the ports they serve. */
import { z } from "zod";
import { idSchema } from "../ids.ts";
import { wellFormed } from "../text.ts";
import { EnvSchema } from "./session.ts";

/** Bytes that one request may write to a process. */
export const PROCESS_STDIN_LIMIT_BYTES = 256 * 1024;
const COMMAND_LIMIT_CHARS = 100_000;

const withoutNul = (schema: z.ZodString) =>
  wellFormed(schema).refine((text) => !text.includes("\0"), "must not contain NUL");

const cells = z.number().int().min(1).max(1000);
export const TerminalSizeSchema = z.strictObject({ cols: cells, rows: cells });

export const CreateProcessSchema = z
  .strictObject({
    /** For the shell; or `argv`, which no shell sees. */
    command: withoutNul(z.string().min(1).max(COMMAND_LIMIT_CHARS)).optional(),
    argv: z
      .array(withoutNul(z.string().max(COMMAND_LIMIT_CHARS)))
      .min(1)
      .max(1000)
      .optional(),
    cwd: withoutNul(z.string().min(1).max(4096)).optional(),
    env: EnvSchema.optional(),
    pty: TerminalSizeSchema.optional(),
  })
  .refine(({ command, argv }) => (command === undefined) !== (argv === undefined), {
    message: "give either command or argv",
    path: ["command"],
  });
export type CreateProcess = z.infer<typeof CreateProcessSchema>;

export const ProcessSchema = z.object({
  id: idSchema("prc"),
  session_id: idSchema("ses"),
  command: z.string(),
  cwd: z.string(),
  pty: TerminalSizeSchema.nullable(),
  /** Inside the session. */
  pid: z.number().int(),
  status: z.enum(["running", "exited"]),
  exit_code: z.number().int().nullable(),
  /** The signal that ended it, `SIGTERM` say. */
  signal: z.string().nullable(),
  oom_killed: z.boolean(),
  started_at: z.string(),
  finished_at: z.string().nullable(),
  last_event_id: z.number().int(),
  /** Output that is gone because there was too much of it. */
  dropped_bytes: z.number().int(),
});
export type Process = z.infer<typeof ProcessSchema>;

export const ProcessStdinSchema = z
  .strictObject({
    data: wellFormed(z.string().max(PROCESS_STDIN_LIMIT_BYTES)).optional(),
    data_b64: z
      .base64()
      .max(PROCESS_STDIN_LIMIT_BYTES * 2)
      .optional(),
    eof: z.boolean().optional(),
  })
  .refine(({ data, data_b64 }) => data === undefined || data_b64 === undefined, {
    message: "give either data or data_b64",
    path: ["data_b64"],
  });

export const ProcessSignalSchema = z.strictObject({
  signal: z
    .string()
    .regex(/^(SIG)?[A-Z0-9+]{2,12}$/, "must be a signal's name, SIGTERM say")
    .transform((name) => (name.startsWith("SIG") ? name : `SIG${name}`)),
});

const ExitSchema = z.object({
  exit_code: z.number().int().nullable(),
  signal: z.number().int().nullable(),
  oom: z.boolean(),
  finished_at: z.number(),
});

/** A process as the guest describes it; times in seconds. */
export const GuestProcessSchema = z.object({
  process: z.string().max(64),
  pid: z.number().int(),
  command: z.string().max(2 * COMMAND_LIMIT_CHARS + 1000),
  cwd: z.string().max(8192),
  pty: TerminalSizeSchema.nullable(),
  started_at: z.number(),
  last_seq: z.number().int().nonnegative(),
  dropped_bytes: z.number().int().nonnegative(),
  exit: ExitSchema.nullable(),
});
export type GuestProcess = z.infer<typeof GuestProcessSchema>;

export const GuestProcessListSchema = z.object({ processes: z.array(GuestProcessSchema).max(64) });

export const ProcessOutputSchema = z.object({
  entries: z.array(
    z.object({ seq: z.number().int(), stream: z.enum(["stdout", "stderr"]), text: z.string() }),
  ),
  /** Entries after the asked position that are gone. */
  missed: z.number().int().nonnegative(),
  /** Others follow at once. */
  more: z.boolean(),
  /** The end counts as one entry. */
  last_seq: z.number().int().nonnegative(),
  exit: ExitSchema.nullable(),
});
export type ProcessOutput = z.infer<typeof ProcessOutputSchema>;

const SIGNALS =
  "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS".split(
    " ",
  );

/** As Linux numbers them on all machines that Docker images are made for here. */
export function signalName(number: number): string {
  return `SIG${SIGNALS[number - 1] ?? number}`;
}

export const HEADERS_LIMIT = 500;
export const HeaderPairsSchema = z.array(z.tuple([z.string(), z.string()])).max(HEADERS_LIMIT);

/** A client's request to a port, as the daemon makes it there. */
export const PortRequestSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  method: z.string(),
  path: z.string(),
  headers: HeaderPairsSchema,
  /** Where the daemon brings the answer's body. */
  response: z.string(),
  /** Where the request's body is, if it has one. */
  body: z.string().nullable(),
  /** Where the daemon's WebSocket meets the client's, if that is what the client wants. */
  socket: z.string().nullable(),
  protocols: z.array(z.string()).max(16),
});
export type PortRequest = z.infer<typeof PortRequestSchema>;

/** `upgraded`: the WebSockets are being joined. */
export const PortAnswerSchema = z.union([
  z.object({ upgraded: z.literal(true) }),
  z.object({ status: z.number().int(), headers: HeaderPairsSchema, has_body: z.boolean() }),
]);
export type PortAnswer = z.infer<typeof PortAnswerSchema>;
