/**
 * `npm run bench`: starts the product in a home of its own and measures it beside its baselines, in one run.
 * `--write` puts the tables into bench/README.md; names choose parts of it.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { ensureDockerEngine } from "@sandbar/agent-host/setup/docker-engine.ts";
import { ensureImages } from "@sandbar/agent-host/setup/images.ts";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { Stack } from "@sandbar/test/fixtures/stack.ts";
import { benchAgent } from "./agent.ts";
import { benchArtifacts } from "./artifacts.ts";
import { benchBash } from "./bash.ts";
import { benchBurst } from "./burst.ts";
import { benchCells, benchCpu, benchThroughput } from "./cells.ts";
import { compareTrees } from "./compare.ts";
import { benchFiles, benchMemory } from "./files.ts";
import { benchRestarts } from "./restarts.ts";
import { benchSessions, idleMemory } from "./sessions.ts";
import { benchWarm } from "./warm.ts";
import { benchWasm } from "./wasm.ts";

const say = (line: string) => console.error(line);

type Part = (stack: Stack, client: Client) => Promise<string[]>;

/** In the order in which they run; each makes its own part of the report. */
const PARTS: Record<string, Part> = {
  cells: async (stack, client) => [
    "### A trivial Python cell (`1+1`)",
    table(["what", "median ms", "p95 ms", "n", "against Sandbar"], await benchCells(client, say)),
    "### CPU time of one such cell by process, ms",
    table(["process", "ms, median"], await benchCpu(stack, client)),
    "### Bash, `echo`",
    table(["what", "median ms", "against Sandbar"], await benchBash(stack)),
  ],
  throughput: async (_, client) => [
    "### Many at once",
    table(["what", "cells/s, median", "worst", "best"], await benchThroughput(client)),
  ],
  sessions: async (stack, client) => {
    const sessions = await benchSessions(client);
    const memory = await idleMemory(stack, client);
    const sum = (key: "rss" | "pss") => memory.reduce((total, row) => total + row[key], 0).toFixed(1);
    return [
      "### Sessions, made from nothing",
      table(["what", "median ms", "against `docker run`"], sessions),
      "### Idle memory of one session, MB",
      table(
        ["process", "RSS", "PSS"],
        [
          ...memory.map((row) => [`\`${row.name}\``, row.rss.toFixed(1), row.pss.toFixed(1)]),
          ["together", sum("rss"), sum("pss")],
        ],
      ),
    ];
  },
  restarts: async (_, client) => [
    "### A new kernel for code that uses pandas",
    table(["what", "median ms", "against cold"], await benchRestarts(client)),
  ],
  artifacts: async (_, client) => [
    "### Cells that leave artifacts, against `docker exec` and `docker exec tar`",
    table(["what", "median ms", "p95 ms", "against Sandbar"], await benchArtifacts(client)),
  ],
  files: async (stack, client) => [
    "### Files, against `docker exec tar`",
    table(["what", "Sandbar, median ms", "`docker exec tar`", "against Sandbar"], await benchFiles(client)),
    "### Memory while 2 GB pass, MB",
    table(["process", "before", "peak"], await benchMemory(stack, client)),
  ],
};
const NAMES = [...Object.keys(PARTS), "warm", "agent"];

const [first, folder] = process.argv.slice(2);
if (first === "compare" && folder) {
  await ensureDockerEngine({ log: say });
  await ensureImages({ names: ["python"], log: say });
  console.log(table(["what", folder, "this tree", "ratio"], await compareTrees(folder, say)));
  process.exit();
}
if (first === "burst") {
  await ensureDockerEngine({ log: say });
  await ensureImages({ names: ["python"], log: say });
  const head = folder ? ["what", folder, "this tree", "ratio"] : ["what", "this tree"];
  console.log(table(head, await benchBurst(folder, say)));
  process.exit();
}
if (first === "wasm") {
  await ensureDockerEngine({ log: say });
  await ensureImages({ names: ["python"], log: say });
  console.log(table(["what", "containers", "WebAssembly", "ratio"], await benchWasm(say)));
  process.exit();
}
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const strange = wanted.filter((name) => !NAMES.includes(name));
if (process.argv.includes("--help") || strange.length > 0) {
  const usage = `Usage: npm run bench [-- [--write] [${NAMES.join(" | ")}]…]\n\nWithout names everything is measured. --write puts all results into bench/README.md.\n\n       npm run bench -- compare <folder of another clone>\n\nmeasures cells of both trees in rounds that alternate.\n\n       npm run bench -- burst [folder of another clone]\n\nmeasures many sessions at once, with CPU time and syncs.\n\n       npm run bench -- wasm\n\nmeasures WebAssembly beside containers.`;
  console.log(strange.length > 0 ? `No such part: ${strange.join(", ")}\n\n${usage}` : usage);
  process.exit(strange.length > 0 ? 2 : 0);
}
const runs = (name: string) => wanted.length === 0 || wanted.includes(name);

await ensureDockerEngine({ log: say });
await ensureImages({ names: ["python"], log: say });
const report: string[] = [];
if (Object.keys(PARTS).some(runs)) {
  const stack = await Stack.start();
  try {
    const client = stack.client();
    for (const [name, part] of Object.entries(PARTS).filter(([name]) => runs(name))) {
      say(name);
      report.push(...(await part(stack, client)));
    }
  } finally {
    await stack.close();
  }
}
if (runs("warm"))
  report.push(
    "### Sessions from the warm pool",
    table(["what", "median ms", "against `docker run`"], await benchWarm(say)),
  );
if (runs("agent")) {
  const { memory, latency } = await benchAgent(say);
  report.push(
    "### The agent, with a fake model: memory of workerd",
    table(["when", "RSS, MB"], memory),
    "### The agent, with a fake model: latency",
    table(["what", "median ms", "p95 ms", "worst ms", "n"], latency),
  );
}
const text = `Measured on ${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.version}; one run, medians, baselines interleaved.\n\n${report.join("\n\n")}\n`;
console.log(text);
if (process.argv.includes("--write") && wanted.length === 0) {
  const file = join(import.meta.dirname, "README.md");
  const readme = readFileSync(file, "utf8");
  writeFileSync(
    file,
    readme.replace(
      /<!-- results -->[\s\S]*<!-- \/results -->/,
      () => `<!-- results -->\n${text}<!-- /results -->`,
    ),
  );
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
