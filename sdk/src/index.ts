/**
 * The Sandbar client. Runs wherever there is fetch: Node, Workers, browsers, Deno.
 *
 * @module
 */
export type {
  AllSessionMetrics,
  ApiKey,
  AuditEntry,
  Capability,
  Completion,
  ConsoleLink,
  Context,
  CreateSession,
  EffectivePolicy,
  EngineChoice,
  EngineName,
  ErrorCode,
  ExecutionNews,
  Host,
  HostLoad,
  HostNews,
  Language,
  ListeningPort,
  Me,
  MimeBundle,
  NetworkConnection,
  NetworkRulesInput,
  NetworkUse,
  NewSessionToken,
  OnBusy,
  Policy,
  Preview,
  PutSecret,
  Restored,
  Sample,
  Secret,
  Session as SessionRecord,
  SessionMetrics,
  SessionNetwork,
  SessionToken,
  TenantEvent,
  TenantPolicy,
  TokenVerb,
  UsagePoint,
  UsageSeries,
} from "@sandbar/shared";
export * from "./artifacts.ts";
export * from "./chat/fold.ts";
export { partialText } from "./chat/partial-text.ts";
export { RunStream, type RunStreamOptions } from "./chat/run-stream.ts";
export * from "./chat/shapes.ts";
export * from "./chat/threads.ts";
export * from "./client.ts";
export * from "./config.ts";
export * from "./contexts.ts";
export * from "./datasets.ts";
export * from "./describe.ts";
export * from "./engine-notice.ts";
export { type ClientErrorCode, SandbarError } from "./errors.ts";
export {
  type Execution,
  ExecutionFailed,
  type ExecutionHelpers,
  type ExecutionRecord,
  isTerminal,
} from "./execution.ts";
export { ExecutionAborted, type ExecutionEvent, ExecutionStream } from "./execution-stream.ts";
export * from "./files.ts";
export { Listing, type Page } from "./listing.ts";
export { newId } from "./new-id.ts";
export * from "./operator.ts";
export * from "./processes.ts";
export { quote } from "./quote.ts";
export * from "./session.ts";
export type { AgentSettings, ModelChoices, ModelTest, PutSettings, Settings } from "./settings.ts";
export * from "./snapshots.ts";
export { type ServerEvent, serverEvents } from "./sse.ts";
export type { EventsOptions } from "./tenant-events.ts";
export * from "./terminal.ts";
