/** @module What the daemon may ask a guest, and what it answers: anything at all, until it is checked here. */
import { z } from "zod";
import { CompletionSchema, ContextStateSchema } from "../api/context.ts";
import { FileEntrySchema } from "../api/file.ts";
import { ListeningPortsSchema } from "../api/port.ts";
import { GuestProcessListSchema, GuestProcessSchema, ProcessOutputSchema } from "../api/process.ts";
import { ArtifactEntrySchema } from "./guest-messages.ts";

const count = z.number().int().nonnegative();
const nanoseconds = z.string().regex(/^-?\d{1,31}$/);
/** Whatever is said, nobody needs it. */
const nothing = z.unknown().transform(() => null);

const GuestEntrySchema = FileEntrySchema.omit({ mtime: true, etag: true }).extend({ mtime_ns: nanoseconds });
export type GuestEntry = z.infer<typeof GuestEntrySchema>;

const ReadSchema = z.object({
  size: count,
  offset: count,
  length: count,
  mtime_ns: nanoseconds,
  mode: count,
  /** The asked range lies outside of the file: nothing is sent. */
  unsatisfiable: z.boolean().default(false),
  /** It is a folder: nothing is sent, and only the time and the mode are said. */
  directory: z.boolean().default(false),
});
export type GuestRead = z.infer<typeof ReadSchema>;

const WrittenSchema = z.object({ size: count, sha256: z.string().length(64), entries: count.optional() });

/** An object may say of itself that it is larger than a number can say. */
const VariableSchema = ContextStateSchema.shape.variables.element.extend({
  size: count.nullable().catch(null),
});

/** What became of each variable; in characters, of which one may be two of ours. */
const StateReportSchema = z.object({
  language: z.string().max(64).nullable(),
  variables: z
    .array(
      z.object({
        name: z.string().max(400),
        type: z.string().max(400),
        status: z.enum(["saved", "degraded", "lost"]),
        reason: z.string().max(600).optional(),
      }),
    )
    .max(2000),
  /** Variables that are whole and not named. */
  more: count,
  /** Where the kernel stood, and names of environment variables that code has changed. */
  environment: z
    .object({
      cwd: z.string().max(8192).nullable(),
      set: z.array(z.string().max(400)).max(500),
      unset: z.array(z.string().max(400)).max(500),
    })
    .optional(),
});
export type StateReport = z.infer<typeof StateReportSchema>;

/** Device and inode of a folder; null when it is not there. */
const identity = z.string().max(64).nullable();

export const GUEST_ANSWERS = {
  ping: nothing,
  state: ContextStateSchema.extend({ variables: z.array(VariableSchema) }),
  complete: CompletionSchema,
  "state.dump": StateReportSchema.extend({
    size: count,
    /** A context that has no kernel has nothing to save. */
    alive: z.boolean(),
    format: z.string().max(64).nullable(),
  }),
  "state.load": StateReportSchema.extend({ size: count, sha256: z.string().length(64) }),
  "session.enter": z.object({ session: identity, data: identity }),

  "fs.stat": GuestEntrySchema,
  "fs.list": z.object({
    entries: z.array(GuestEntrySchema).max(1000),
    next_cursor: z.string().nullable(),
  }),
  "fs.mkdir": GuestEntrySchema,
  "fs.move": GuestEntrySchema,
  "fs.remove": nothing,
  "fs.read": ReadSchema,
  "fs.write": WrittenSchema.extend({ mtime_ns: nanoseconds.optional() }),
  "fs.untar": WrittenSchema,
  "fs.tar": z.object({ size: count, entries: count }),
  "fs.watch": nothing,

  "artifacts.scan": z.object({
    artifacts: z.array(ArtifactEntrySchema).max(10_000),
    artifacts_more: z.boolean(),
  }),
  "artifacts.read": nothing,
  "artifacts.settle": nothing,

  "ps.start": GuestProcessSchema,
  "ps.get": GuestProcessSchema,
  "ps.list": GuestProcessListSchema,
  "ps.remove": nothing,
  "ps.stdin": nothing,
  "ps.signal": nothing,
  "ps.resize": GuestProcessSchema,
  "ps.output": ProcessOutputSchema,
  "ports.list": ListeningPortsSchema,
  "tunnel.open": nothing,
} as const;

export type GuestMethod = keyof typeof GUEST_ANSWERS;
export type GuestAnswer<M extends GuestMethod> = z.output<(typeof GUEST_ANSWERS)[M]>;
export type GuestCall = <M extends GuestMethod>(
  method: M,
  params: Record<string, unknown>,
  timeoutMs?: number,
) => Promise<GuestAnswer<M>>;
