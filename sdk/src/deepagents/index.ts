/** @module A backend for the npm package `deepagents`. */
export { type CreateOptions, SandbarSandbox, type SandbarSandboxOptions } from "./sandbar-sandbox.ts";
