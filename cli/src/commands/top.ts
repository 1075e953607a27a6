/** @module `sandbar top`: hosts and sessions with what they use, refreshed. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Sample, SandbarError } from "@sandbar/sdk";
import type { Session as SessionRecord } from "@sandbar/shared";
import type { Command } from "commander";
import { type Cli, cli } from "../invocation/global-options.ts";
import { positive } from "../invocation/option-values.ts";
import { age, type Column, printJson, size, table } from "../terminal/print.ts";
import { HOST_COLUMNS } from "./operator.ts";

type Metered = SessionRecord & { usage: Sample | null };

const COLUMNS: Column<Metered>[] = [
  { title: "id", value: (s) => s.id },
  { title: "key", value: (s) => s.key },
  { title: "runtime", value: (s) => s.runtime },
  { title: "status", value: (s) => s.status },
  { title: "cpu", value: (s) => s.usage && `${s.usage.cpu_percent.toFixed(1)} %`, right: true },
  { title: "memory", value: (s) => s.usage && size(s.usage.memory_bytes), right: true },
  { title: "disk", value: (s) => s.usage && size(s.usage.disk_bytes), right: true },
  { title: "procs", value: (s) => s.usage?.processes, right: true },
  { title: "host", value: (s) => s.host_id },
  { title: "used", value: (s) => age(s.last_used_at), right: true },
];

export function addTop(program: Command): void {
  program
    .command("top")
    .description("hosts and sessions with what they use, live")
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
          table(sessions.slice(0, Math.max(10, (process.stdout.rows ?? 40) - 12)), COLUMNS),
        );
      }
    });
}

async function look({ client }: Cli) {
  const [hosts, sessions, { data: metered }] = await Promise.all([
    client.hosts
      .list()
      .all()
      .catch((error) => {
        // A key of an agent may not see hosts.
        if (error instanceof SandbarError && error.status === 403) return null;
        throw error;
      }),
    client.sessions().all(),
    client.sessionMetrics(),
  ]);
  const usage = new Map(metered.map(({ session, samples }) => [session, samples.at(-1) ?? null]));
  const live: Metered[] = sessions
    .filter(({ status }) => !["stopped", "lost", "failed"].includes(status))
    .map((session) => ({ ...session, usage: usage.get(session.id) ?? null }));
  const busiest = (a: Metered, b: Metered) =>
    (b.usage?.cpu_percent ?? -1) - (a.usage?.cpu_percent ?? -1) ||
    b.last_used_at.localeCompare(a.last_used_at);
  return { hosts, sessions: live.sort(busiest) };
}
