/**
 * The Sandbar client. Runs wherever there is fetch: Node, Workers, browsers, Deno.
 *
 * @module
 */
export type {
  AllSessionMetrics,
  ApiKey,
  Completion,
  ConsoleLink,
  Context,
  CreateSession,
  ErrorCode,
  ExecutionNews,
  Host,
  HostLoad,
  HostNews,
  Language,
  Me,
  MimeBundle,
  Preview,
  Sample,
  Session as SessionRecord,
  SessionMetrics,
  TenantEvent,
  UsagePoint,
  UsageSeries,
} from "@sandbar/shared";
export * from "./artifacts.ts";
export * from "./client.ts";
export * from "./config.ts";
export * from "./contexts.ts";
export * from "./datasets.ts";
export * from "./describe.ts";
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
export * from "./operator.ts";
export * from "./processes.ts";
export { quote } from "./quote.ts";
export * from "./session.ts";
export type { AgentSettings, ModelTest, PutSettings, Settings } from "./settings.ts";
export type { EventsOptions } from "./tenant-events.ts";
export * from "./terminal.ts";
