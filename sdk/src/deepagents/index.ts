/** @module A backend for the npm package `deepagents`. */
export { SandbarSandbox, type SandbarSandboxOptions } from "./sandbar-sandbox.ts";
