/**
 * What the control plane may ask a host: questions that may simply fail, each with its parameters and its result. Both
 * sides check what comes from the other against this table; what a peer of another version adds is left out.
 *
 * @module
 */
import { z } from "zod";
import { CompletionSchema, ContextStateSchema } from "../api/context.ts";
import { DatasetSchema, DatasetStageAnswerSchema, DatasetStageCallSchema } from "../api/dataset.ts";
import { ExportRequestSchema, ExportResultSchema } from "../api/export.ts";
import { FileEntrySchema, OpenedFileSchema, WrittenFileSchema } from "../api/file.ts";
import { HostLoadSchema } from "../api/host.ts";
import { SAMPLE_LIMIT } from "../api/metrics.ts";
import { NetworkUseSchema } from "../api/network.ts";
import { ListeningPortsSchema } from "../api/port.ts";
import {
  GuestProcessListSchema,
  GuestProcessSchema,
  PortAnswerSchema,
  PortRequestSchema,
  ProcessOutputSchema,
  TerminalSizeSchema,
} from "../api/process.ts";
import { LanguageSchema } from "../api/session.ts";
import { OnBusySchema } from "../api/snapshot.ts";

const count = z.number().int().nonnegative();
const flag = z.boolean().optional();
/** Names a question that must not be acted upon twice: Durable Object calls are repeated when an object was reset. */
const once = z.string().optional();
const process = { process: z.string() };
/** Where the daemon brings the bytes, or finds them. */
const grant = { grant: z.string() };
/** Whatever is said, nobody needs it. */
const nothing = z.unknown().transform(() => null);

/** A path as text, or as bytes in base64 for a name that is not UTF-8. Relative ones start at /session. */
const located = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.union([z.object({ path: z.string(), ...shape }), z.object({ path_b64: z.string(), ...shape })]);

const written = { size: count.optional(), mkdirs: flag, mode: count.optional() };

/** A sample of what a session uses, short because there are many: time, CPU, memory, processes, disk. */
export const WireSampleSchema = z.tuple([
  z.number().nonnegative().max(8.64e15),
  z.number().nonnegative(),
  count,
  count,
  count.nullable(),
]);
export type WireSample = z.infer<typeof WireSampleSchema>;
const samples = { samples: z.array(WireSampleSchema).max(SAMPLE_LIMIT + 1) };

/** About one session, which must be on this host. */
export const SESSION_CALLS = {
  state: { params: z.object({ context: z.string() }), result: ContextStateSchema },
  /** Those that are kept, and one of now. */
  metrics: { params: z.object({}), result: z.object(samples) },
  /** With the version of the rules that hold. */
  network: { params: z.object({}), result: z.object({ version: count, use: NetworkUseSchema }) },
  /** Nothing is connected until then (milliseconds since 1970), and what is open ends. */
  "network.hold": {
    params: z.object({ until: count, reason: z.string().max(300) }),
    result: z.object({}),
  },
  complete: {
    params: z.object({ context: z.string(), code: z.string(), cursor: count }),
    result: CompletionSchema,
  },

  "files.stat": { params: located({ follow: flag, readable: flag }), result: FileEntrySchema },
  "files.list": {
    params: located({ depth: count.optional(), limit: count.optional(), cursor: z.string().optional() }),
    result: z.object({ entries: z.array(FileEntrySchema), next_cursor: z.string().nullable() }),
  },
  "files.mkdir": { params: located({ parents: flag }), result: FileEntrySchema },
  "files.move": {
    params: z.object({ from: z.string(), to: z.string(), overwrite: flag, mkdirs: flag, once }),
    result: FileEntrySchema,
  },
  "files.remove": { params: located({ recursive: flag, once }), result: nothing },
  "files.read": {
    params: located({
      offset: count.optional(),
      length: count.optional(),
      /** This many bytes from the end. */
      last: count.optional(),
      /** An offset at the very end is outside, as HTTP ranges have it. */
      ranged: flag,
      /** Without it a symlink is refused. */
      follow: flag,
      /** The etag of what the caller has: the same is not sent again. */
      known: z.string().optional(),
      ...grant,
    }),
    result: OpenedFileSchema,
  },
  "files.write": {
    params: located({
      ...written,
      /** The etag that the file must have when it is replaced; `*` for any file. */
      if_match: z.string().optional(),
      ...grant,
    }),
    result: WrittenFileSchema,
  },
  "files.untar": {
    params: located({ size: count.optional(), gzip: flag, ...grant }),
    result: WrittenFileSchema,
  },
  "files.watch": { params: located({ recursive: flag, ...grant }), result: nothing },
  /** `source`: a file or folder of the host. */
  "files.import": {
    params: located({ ...written, source: z.string(), below: z.array(z.string()).optional() }),
    result: WrittenFileSchema,
  },

  "artifacts.export": {
    params: ExportRequestSchema,
    result: z.object({ data: z.array(ExportResultSchema) }),
  },

  /** Answered when the control plane has all of it; asked again with the same snapshot, it is joined. */
  "snapshots.take": {
    params: z.object({
      snapshot: z.string(),
      contexts: z.array(z.object({ name: z.string(), language: LanguageSchema })),
      on_busy: OnBusySchema,
    }),
    result: nothing,
  },

  "datasets.stage": { params: DatasetStageCallSchema, result: DatasetStageAnswerSchema },
  "datasets.list": { params: z.object({}), result: z.object({ data: z.array(DatasetSchema) }) },
  "datasets.remove": { params: z.object({ id: z.string() }), result: z.object({ removed: z.boolean() }) },

  "processes.start": {
    params: z.object({
      ...process,
      /** Of the request: the same process may be asked for again, another one under its id may not. */
      digest: z.string(),
      command: z.string().optional(),
      argv: z.array(z.string()).optional(),
      cwd: z.string().optional(),
      env: z.record(z.string(), z.string()).optional(),
      pty: TerminalSizeSchema.optional(),
      /** How long it outlives its last viewer. */
      linger_s: count.optional(),
    }),
    result: GuestProcessSchema,
  },
  "processes.get": { params: z.object(process), result: GuestProcessSchema },
  "processes.list": { params: z.object({}), result: GuestProcessListSchema },
  "processes.remove": { params: z.object(process), result: nothing },
  "processes.stdin": {
    params: z.object({ ...process, data_b64: z.string(), eof: flag, once }),
    result: nothing,
  },
  "processes.signal": { params: z.object({ ...process, signal: z.string(), once }), result: nothing },
  "processes.resize": {
    params: z.object({ ...process, ...TerminalSizeSchema.shape }),
    result: GuestProcessSchema,
  },
  /** What follows the entry `after`; when there is nothing, it is waited for a while. */
  "processes.output": {
    params: z.object({ ...process, after: count, wait_ms: count }),
    result: ProcessOutputSchema,
  },

  "terminal.open": { params: z.object({ ...grant, ...process, after: count }), result: nothing },
  "tunnels.close": { params: z.object(grant), result: nothing },
  "ports.list": { params: z.object({}), result: ListeningPortsSchema },
  "ports.request": { params: PortRequestSchema.extend({ once }), result: PortAnswerSchema },
} as const;

export const HOST_CALLS = {
  ...SESSION_CALLS,
  /** Bytes in use by name. */
  "volumes.sizes": { params: z.object({ tenant: z.string() }), result: z.record(z.string(), count) },
  /** Of all running sessions of a tenant, at most `count` of each; fewer where there are very many. */
  "metrics.sessions": {
    params: z.object({ tenant: z.string(), count }),
    result: z.object({ data: z.array(z.object({ session: z.string(), ...samples })) }),
  },
  "host.load": { params: z.object({}), result: HostLoadSchema },
  /** What a BIND session leaves; false when there is nothing. Of one that is not over yet it goes later. */
  "folders.remove": { params: z.object({ session: z.string() }), result: z.boolean() },
  "volumes.remove": { params: z.object({ tenant: z.string(), name: z.string() }), result: nothing },
} as const;

export type HostMethod = keyof typeof HOST_CALLS;
export type SessionMethod = keyof typeof SESSION_CALLS;
export type HostParams<M extends HostMethod> = z.input<(typeof HOST_CALLS)[M]["params"]>;
export type HostResult<M extends HostMethod> = z.output<(typeof HOST_CALLS)[M]["result"]>;

/** `files`: those that begin with it. */
export type MethodsOf<Room extends string> = Extract<HostMethod, `${Room}.${string}`>;

/** Who answers the methods `M`; each is given what its method is about and the parameters, checked. */
export type CallHandlers<M extends HostMethod, Subject extends unknown[]> = {
  readonly [K in M]: (
    ...asked: [...Subject, params: z.output<(typeof HOST_CALLS)[K]["params"]>]
  ) => Promise<z.input<(typeof HOST_CALLS)[K]["result"]>>;
};

export const isHostMethod = (method: string): method is HostMethod => Object.hasOwn(HOST_CALLS, method);
export const isSessionMethod = (method: string): method is SessionMethod =>
  Object.hasOwn(SESSION_CALLS, method);
