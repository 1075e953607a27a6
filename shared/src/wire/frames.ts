/**
 * The wire between agent-host and its HostObject: JSON text frames over one WebSocket.
 * `docs/protocol.md` tells the story; this is the only place where the shapes are written.
 *
 * @module
 */
import { z } from "zod";
import { ExecutionErrorSchema, KernelEventSchema, OutcomeSchema } from "../api/execution.ts";
import { CapacitySchema } from "../api/host.ts";
import { NETWORK_LINES, NetworkConnectionSchema, SessionRulesSchema } from "../api/network.ts";
import { ContextReportSchema, LanguageSchema, SessionSpecSchema } from "../api/session.ts";
import { FailureSchema } from "../errors.ts";
import { CONTEXT_LIMIT } from "../limits.ts";
import { CauseSchema } from "./cause.ts";

/** 3: the sides agree on a version. The daemon answers in the older of its own and the challenge's. */
export const PROTOCOL_VERSION = 3;

/** Sent by the daemon as a bare text message; the runtime answers it without waking the object. */
export const HEARTBEAT_REQUEST = "ping";
export const HEARTBEAT_RESPONSE = "pong";

/** Close codes of our own. After `superseded` a daemon must not reconnect: a newer one has its host id. */
export const CLOSE = {
  tryAgain: 1013,
  superseded: 4001,
  protocol: 4002,
  unauthorized: 4003,
  removed: 4004,
} as const;

const cause = CauseSchema.optional();

/** Durable commands: kept in the HostObject's outbox until the daemon has journaled them. */
export const CommandSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("session.create"),
    tenant: z.string(),
    context: z.string(),
    spec: SessionSpecSchema,
    cause,
  }),
  z.object({ type: z.literal("session.stop"), reason: z.string() }),
  z.object({ type: z.literal("session.network"), rules: SessionRulesSchema }),
  z.object({
    type: z.literal("run"),
    execution: z.string(),
    context: z.string(),
    language: LanguageSchema,
    code: z.string(),
    env: z.record(z.string(), z.string()),
    stdin: z.string().nullable(),
    timeout_ms: z.number().int().positive(),
    cause,
  }),
  z.object({ type: z.literal("interrupt"), execution: z.string() }),
  z.object({ type: z.literal("context.open"), context: z.string(), language: LanguageSchema }),
  z.object({ type: z.literal("context.restart"), context: z.string() }),
  z.object({ type: z.literal("context.close"), context: z.string() }),
]);
export type Command = z.infer<typeof CommandSchema>;

/** A context whose variables went while no code ran in it. */
export const LossSchema = z.object({
  context: z.string().max(64),
  reason: z.string().max(1000),
  at: z.string().max(64),
});
export type Loss = z.infer<typeof LossSchema>;

export const SessionReportSchema = z.discriminatedUnion("state", [
  z.object({ state: z.literal("creating") }),
  z.object({
    state: z.literal("ready"),
    languages: z.array(LanguageSchema),
    image: z.string(),
    lost: z.array(LossSchema).max(CONTEXT_LIMIT).optional(),
    /** Of a session that began with a snapshot. */
    restored: z.array(ContextReportSchema).max(CONTEXT_LIMIT).optional(),
  }),
  z.object({ state: z.literal("failed"), failure: FailureSchema }),
  z.object({ state: z.literal("died"), error: ExecutionErrorSchema }),
  z.object({ state: z.literal("stopped") }),
]);
export type SessionReport = z.infer<typeof SessionReportSchema>;

export const ServerFrameSchema = z.discriminatedUnion("t", [
  z.object({ t: z.literal("challenge"), v: z.number(), nonce: z.string() }),
  z.object({
    t: z.literal("welcome"),
    /** Which version is spoken from here on; version 2 does not say so. */
    v: z.number().optional(),
    epoch: z.number().int(),
    heartbeat_ms: z.number().int(),
  }),
  z.object({ t: z.literal("command"), n: z.number().int(), session: z.string(), command: CommandSchema }),
  /** Events up to `seq` are persisted; with `final` the outcome is too, and the daemon may forget the execution. */
  z.object({
    t: z.literal("ack"),
    session: z.string(),
    execution: z.string(),
    seq: z.number().int(),
    final: z.boolean(),
  }),
  /** A gap was seen: send the execution's events again after `seq`. */
  z.object({ t: z.literal("resend"), session: z.string(), execution: z.string(), seq: z.number().int() }),
  z.object({ t: z.literal("session.ack"), session: z.string(), state: z.string() }),
  z.object({
    t: z.literal("call"),
    id: z.string(),
    session: z.string(),
    method: z.string(),
    params: z.unknown(),
    cause,
  }),
]);
export type ServerFrame = z.infer<typeof ServerFrameSchema>;

export const HostFrameSchema = z.discriminatedUnion("t", [
  z.object({
    t: z.literal("hello"),
    v: z.number(),
    /** EdDSA JWT: `{nonce, sub: host id}`. */
    proof: z.string(),
    version: z.string(),
    boot: z.string(),
    /** The last command in the daemon's journal: the next one has the number after it. */
    last_n: z.number().int().nonnegative(),
    /** Of the last welcome in the journal: what `last_n` counts, unless another daemon was welcomed since. */
    epoch: z.number().int().nonnegative().optional(),
    capacity: CapacitySchema,
    /** Every session in the daemon's journal, so that both sides agree on what lives. */
    sessions: z.array(z.object({ session: z.string(), report: SessionReportSchema })),
  }),
  z.object({ t: z.literal("ack"), n: z.number().int() }),
  z.object({
    t: z.literal("report"),
    session: z.string(),
    execution: z.string(),
    events: z.array(KernelEventSchema),
    outcome: OutcomeSchema.nullable(),
  }),
  z.object({ t: z.literal("session"), session: z.string(), report: SessionReportSchema }),
  z.object({ t: z.literal("progress"), session: z.string(), step: z.string(), detail: z.string() }),
  /** What a session has connected to; lost lines are not said again. */
  z.object({
    t: z.literal("network"),
    session: z.string(),
    connections: z.array(NetworkConnectionSchema).max(NETWORK_LINES),
    /** There were so many more than fit. */
    dropped: z.number().int().nonnegative(),
    /** All bytes that were carried since this began to count: whoever missed some has them with the next. */
    carried: z.object({ since: z.string().max(64), bytes: z.number().int().nonnegative() }).optional(),
  }),
  z.object({ t: z.literal("capacity"), capacity: CapacitySchema }),
  z.object({
    t: z.literal("answer"),
    id: z.string(),
    result: z.unknown().optional(),
    failure: FailureSchema.optional(),
  }),
]);
export type HostFrame = z.infer<typeof HostFrameSchema>;

export const JoinRequestSchema = z.strictObject({
  token: z.string().min(1).max(256),
  name: z.string().min(1).max(128),
  public_key: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string().max(64) }),
});
export const JoinAnswerSchema = z.object({ host_id: z.string() });
