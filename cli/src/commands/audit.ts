/** @module `sandbar audit`: who did what. */
import type { AuditEntry } from "@sandbar/sdk";
import type { Command } from "commander";
import { cli } from "../invocation/global-options.ts";
import { positive } from "../invocation/option-values.ts";
import { type Column, printList } from "../terminal/print.ts";

const COLUMNS: Column<AuditEntry>[] = [
  { title: "at", value: (line) => line.at },
  { title: "tenant", value: (line) => line.tenant },
  { title: "by", value: (line) => line.token_id ?? line.key_id ?? line.via },
  { title: "address", value: (line) => line.address },
  { title: "action", value: (line) => line.action },
  { title: "target", value: (line) => line.target },
  { title: "result", value: (line) => (line.count > 1 ? `${line.result} ×${line.count}` : line.result) },
  { title: "detail", value: (line) => line.detail },
];

interface Flags {
  tenant?: string;
  action?: string;
  target?: string;
  by?: string;
  address?: string;
  result?: string;
  since?: string;
  until?: string;
  count: number;
}

export function addAudit(program: Command): void {
  program
    .command("audit")
    .description("who did what, newest first; operators see all tenants")
    .option("--tenant <tenant>", "only this one's (operator scope)")
    .option("--action <action>", "an action, or with a point at its end all that begin so: host.")
    .option("--target <id>", "what it was done to: a session, a host, a key, a tenant")
    .option("--by <id>", "the key or token")
    .option("--address <address>", "from where")
    .option("--result <result>", "ok, refused, or an error code")
    .option("--since <time>", "RFC 3339 time")
    .option("--until <time>", "RFC 3339 time")
    .option("-n, --count <n>", "so many at most", positive, 50)
    .action(async ({ count, ...filter }: Flags, command: Command) => {
      const { client, output } = cli(command);
      const lines: AuditEntry[] = [];
      for await (const line of client.audit(filter)) if (lines.push(line) >= count) break;
      printList(lines, COLUMNS, output);
    });
}
