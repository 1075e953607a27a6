/** @module Runs wrangler, the version that the Worker depends on. */
import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const repo = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const bin = join(repo, "worker/node_modules/wrangler/bin/wrangler.js");

export class WranglerError extends Error {
  readonly output: string;
  constructor(args: readonly string[], output: string) {
    super(`wrangler ${args.join(" ")} failed.\n${output}`);
    this.output = output;
  }
}

/** What it printed on stdout; with `show` the user sees it too. */
export function wrangler(args: readonly string[], { show = false, input = "" } = {}): Promise<string> {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: repo,
    // Without CI it would ask questions.
    env: { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
    if (show) process.stdout.write(chunk);
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
    if (show) process.stderr.write(chunk);
  });
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.on("close", (code) =>
      code === 0 ? done(stdout) : failed(new WranglerError(args, show ? "" : stdout + stderr)),
    );
  });
}
