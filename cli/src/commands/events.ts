/** @module `sandbar events`: what happens in the tenant, as it happens. */
import type { TenantEvent } from "@sandbar/sdk";
import { type Command, Option } from "commander";
import { cli } from "../invocation/global-options.ts";
import { positive } from "../invocation/option-values.ts";
import { clean, size } from "../terminal/print.ts";

const TYPES = ["session", "execution", "artifact", "host"] as const;

interface Flags {
  type?: TenantEvent["type"];
  after?: string;
  count: number;
}

export function addEvents(program: Command): void {
  program
    .command("events")
    .description("what happens in the tenant, as it happens; operators also see hosts")
    .addOption(new Option("--type <type>", "only these").choices(TYPES))
    .option("--after <id>", "begin after this event instead of now; 0 for the oldest that is kept")
    .option("-n, --count <n>", "stop after so many", positive, Number.POSITIVE_INFINITY)
    .action(async (flags: Flags, command: Command) => {
      const { client, output } = cli(command);
      let shown = 0;
      for await (const event of client.events({ lastEventId: flags.after })) {
        if (event.type === "hello" || (flags.type && event.type !== flags.type && event.type !== "reset"))
          continue;
        process.stdout.write(`${output === "json" ? JSON.stringify(event) : line(event)}\n`);
        if (event.type !== "reset" && ++shown >= flags.count) return;
      }
    });
}

function line(event: TenantEvent): string {
  return [new Date().toISOString(), event.type.padEnd(9), ...words(event)].map(clean).join("  ");
}

function words(event: TenantEvent): string[] {
  switch (event.type) {
    case "session":
      return [event.data.id, event.data.status, event.data.error?.code ?? "", event.data.key];
    case "execution": {
      const { session, execution, status, error_code, duration_ms, code } = event.data;
      const took = duration_ms === null ? "" : `${Math.round(duration_ms)} ms`;
      return [session, execution, error_code ?? status, took, firstLine(code)];
    }
    case "artifact":
      return [event.data.session_id, event.data.name, size(event.data.size)];
    case "host":
      return [
        event.data.id,
        event.data.removed ? "removed" : event.data.status,
        `${event.data.sessions} sessions`,
      ];
    default:
      return ["what happened before is not kept any more"];
  }
}

const firstLine = (code: string) => code.trimStart().split("\n", 1)[0]!;
