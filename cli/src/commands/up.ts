/** @module `sandbar up` and `sandbar down`: the whole product on this machine. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";

export function addUp(program: Command): void {
  for (const [verb, description] of [
    ["up", "start Sandbar on this machine: control plane, agent-host, images"],
    ["down", "stop it and remove its sessions; --purge also removes its data and old images"],
  ] as const)
    program
      .command(`${verb} [arguments...]`)
      .description(description)
      .allowUnknownOption()
      .helpOption(false)
      .action((words: string[]) => runScript(verb, words));
}

async function runScript(verb: string, words: string[]): Promise<void> {
  const script = resolve(import.meta.dirname, `../up/${verb}.ts`);
  if (!existsSync(script))
    throw new UsageError(
      `\`sandbar ${verb}\` needs a checkout of the Sandbar repository; run \`${verb === "up" ? "npm start" : "npm run down"}\` there`,
    );
  const child = spawn(process.execPath, [script, ...words], { stdio: "inherit" });
  // Ctrl-C reaches the child through the terminal; this process only waits for it.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(code ?? (signal ? 1 : 0)));
  });
}
