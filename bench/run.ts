/**
 * `npm run bench`: starts the product in a home of its own and measures it beside its baselines, in one run.
 * `--write` puts the tables into bench/README.md.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { ensureDockerEngine } from "@sandbar/agent-host/setup/docker-engine.ts";
import { ensureImages } from "@sandbar/agent-host/setup/images.ts";
import { Stack } from "@sandbar/test/fixtures/stack.ts";
import { benchArtifacts } from "./artifacts.ts";
import { benchBash } from "./bash.ts";
import { benchCells, benchThroughput } from "./cells.ts";
import { benchFiles, benchMemory } from "./files.ts";
import { benchRestarts } from "./restarts.ts";
import { benchSessions, idleMemory } from "./sessions.ts";
import { benchWarm } from "./warm.ts";

const say = (line: string) => console.error(line);

if (process.argv.includes("--help")) {
  console.log("Usage: npm run bench [-- --write]\n\n--write puts the results into bench/README.md.");
  process.exit(0);
}

await ensureDockerEngine({ log: say });
await ensureImages({ names: ["python"], log: say });
const stack = await Stack.start();
const report: string[] = [];
try {
  const client = stack.client();
  say("trivial cell");
  report.push(
    "### A trivial Python cell (`1+1`)",
    table(["what", "median ms", "p95 ms", "n", "against Sandbar"], await benchCells(client, say)),
  );
  report.push("### Bash, `echo`", table(["what", "median ms", "against Sandbar"], await benchBash(stack)));
  say("throughput");
  const rate = await benchThroughput(client);
  report.push(
    "### Many at once",
    table(["what", "cells/s"], [["32 clients over 8 sessions, 10 s", rate.toFixed(0)]]),
  );
  say("sessions");
  report.push(
    "### Sessions, made from nothing",
    table(["what", "median ms", "against `docker run`"], await benchSessions(client)),
  );
  say("restarts");
  report.push(
    "### A new kernel for code that uses pandas",
    table(["what", "median ms", "against cold"], await benchRestarts(client)),
  );
  const memory = await idleMemory(stack, client);
  const sum = (key: "rss" | "pss") => memory.reduce((total, row) => total + row[key], 0).toFixed(1);
  report.push(
    "### Idle memory of one session, MB",
    table(
      ["process", "RSS", "PSS"],
      [
        ...memory.map((row) => [`\`${row.name}\``, row.rss.toFixed(1), row.pss.toFixed(1)]),
        ["together", sum("rss"), sum("pss")],
      ],
    ),
  );
  say("artifacts");
  report.push(
    "### Cells that leave artifacts, against `docker exec` and `docker exec tar`",
    table(["what", "median ms", "p95 ms", "against Sandbar"], await benchArtifacts(client)),
  );
  say("files");
  report.push(
    "### Files, against `docker exec tar`",
    table(["what", "Sandbar, median ms", "`docker exec tar`", "against Sandbar"], await benchFiles(client)),
    "### Memory while 2 GB pass, MB",
    table(["process", "before", "peak"], await benchMemory(stack, client)),
  );
} finally {
  await stack.close();
}
const warm = await benchWarm(say);
report.push("### Sessions from the warm pool", table(["what", "median ms", "against `docker run`"], warm));
const text = `Measured on ${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.version}; one run, medians, baselines interleaved.\n\n${report.join("\n\n")}\n`;
console.log(text);
if (process.argv.includes("--write")) {
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
