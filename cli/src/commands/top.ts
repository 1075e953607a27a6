/** @module `sandbar top`: hosts and sessions, refreshed. */
import { setTimeout as sleep } from "node:timers/promises";
import { SandbarError } from "@sandbar/sdk";
import type { Command } from "commander";
import { type Cli, cli, positive } from "../invocation/global-options.ts";
import { printJson, table } from "../terminal/print.ts";
import { HOST_COLUMNS } from "./operator.ts";
import { SESSION_COLUMNS } from "./sessions.ts";

export function addTop(program: Command): void {
  program
    .command("top")
    .description("hosts and sessions, live")
    .option("-n, --iterations <n>", "stop after so many", positive, Number.POSITIVE_INFINITY)
    .option("-d, --delay <seconds>", "time between two looks", positive, 2)
    .action(async (flags: { iterations: number; delay: number }, command: Command) => {
      const context = cli(command);
      for (let i = 0; i < flags.iterations; i++) {
        if (i > 0) await sleep(flags.delay * 1000);
        const { hosts, sessions } = await look(context);
        if (context.output === "json") {
          printJson({ hosts, sessions });
          continue;
        }
        const busy = sessions.filter(({ status }) => status === "busy").length;
        if (process.stdout.isTTY) process.stdout.write("\x1b[H\x1b[2J");
        process.stdout.write(
          `${new Date().toISOString()}  ${sessions.length} ${sessions.length === 1 ? "session" : "sessions"}, ${busy} busy\n\n`,
        );
        if (hosts) process.stdout.write(`${table(hosts, HOST_COLUMNS)}\n`);
        process.stdout.write(
          table(sessions.slice(0, Math.max(10, (process.stdout.rows ?? 40) - 12)), SESSION_COLUMNS),
        );
      }
    });
}

async function look({ client }: Cli) {
  const [hosts, sessions] = await Promise.all([
    client.hosts
      .list()
      .all()
      .catch((error) => {
        // A key of an agent may not see hosts.
        if (error instanceof SandbarError && error.status === 403) return null;
        throw error;
      }),
    client.sessions().all(),
  ]);
  const live = sessions.filter(({ status }) => !["stopped", "lost", "failed"].includes(status));
  return { hosts, sessions: live.sort((a, b) => b.last_used_at.localeCompare(a.last_used_at)) };
}
