#!/usr/bin/env node
// `npx sandbar` in a clone, without a build step. An older Node does not run TypeScript; it hands over to the clone's own.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const ownNode = fileURLToPath(new URL("../../.toolchain/bin/node", import.meta.url));

if (Number(process.versions.node.split(".")[0]) >= 24) await import("../src/main.ts");
else if (existsSync(ownNode)) handOver();
else {
  process.stderr.write(
    `sandbar: this clone is not set up, and Node ${process.versions.node} is too old; run \`npm start\` first\n`,
  );
  process.exitCode = 125;
}

function handOver() {
  const child = spawn(ownNode, [main, ...process.argv.slice(2)], { stdio: "inherit" });
  // The terminal sends Ctrl-C to the child too; this process only waits for what that makes of it.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.once("exit", (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}
