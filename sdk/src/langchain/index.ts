/** @module LangGraph tools: code, terminal, datasets and files in one session per thread. */
export * from "./code-tools.ts";
export * from "./dataset-tools.ts";
export * from "./file-tools.ts";
export { type ContentBlock, renderExecution } from "./render.ts";
export * from "./sandbox-tools.ts";
export type { SandboxToolOptions } from "./tool-sessions.ts";
