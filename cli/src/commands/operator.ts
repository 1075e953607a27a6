/** @module `sandbar hosts`, `keys` and `usage`: for those who run Sandbar. */
import type { Scope } from "@sandbar/shared";
import type { Command } from "commander";
import { cli } from "../invocation/global-options.ts";
import { age, type Column, printList, printOne } from "../terminal/print.ts";

type HostRow = Awaited<ReturnType<ReturnType<typeof cli>["client"]["hosts"]["get"]>>;

export const HOST_COLUMNS: Column<HostRow>[] = [
  { title: "id", value: (h) => h.id },
  { title: "name", value: (h) => h.name },
  { title: "status", value: (h) => (h.cordoned ? `${h.status}, cordoned` : h.status) },
  { title: "sessions", value: (h) => `${h.sessions}/${h.capacity?.max_sessions ?? "?"}`, right: true },
  { title: "cpus", value: (h) => h.capacity?.cpus, right: true },
  { title: "memory", value: (h) => (h.capacity ? `${h.capacity.memory_mb} MB` : null), right: true },
  { title: "runtimes", value: (h) => h.capacity?.runtimes.join(",") },
  { title: "seen", value: (h) => age(h.last_seen_at), right: true },
];

export function addOperator(program: Command): void {
  const hosts = program.command("hosts").alias("host").description("Docker hosts (operator scope)");
  hosts
    .command("list", { isDefault: true })
    .alias("ls")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      printList(await client.hosts.list().all(), HOST_COLUMNS, output);
    });
  hosts.command("get <host>").action(async (id: string, _, command: Command) => {
    const { client, output } = cli(command);
    printOne(await client.hosts.get(id), output);
  });
  hosts
    .command("enroll")
    .description("a one-time token with which a machine joins")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      const enrollment = await client.hosts.enroll();
      printOne(enrollment, output);
      if (output === "table")
        process.stderr.write(
          `on the new host, in a clone of the repository after \`node cli/setup/toolchain.mjs setup-only\`:\n  node cli/setup/toolchain.mjs exec node agent-host/src/main.ts join ${client.url} ${enrollment.token}\n`,
        );
    });
  for (const [verb, description] of [
    ["cordon", "place nothing new there"],
    ["uncordon", "place sessions there again"],
    ["drain", "cordon, and stop its sessions"],
    ["remove", "forget a host"],
  ] as const)
    hosts
      .command(`${verb} <host>`)
      .aliases(verb === "remove" ? ["rm"] : [])
      .description(description)
      .action((id: string, _, command: Command) => cli(command).client.hosts[verb](id));

  const keys = program.command("keys").alias("key").description("API keys (admin scope)");
  keys
    .command("list", { isDefault: true })
    .alias("ls")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      printList(
        await client.keys.list().all(),
        [
          { title: "id", value: (k) => k.id },
          { title: "name", value: (k) => k.name },
          { title: "tenant", value: (k) => k.tenant },
          { title: "scopes", value: (k) => k.scopes.join(",") },
          { title: "made", value: (k) => age(k.created_at), right: true },
          { title: "expires", value: (k) => age(k.expires_at), right: true },
        ],
        output,
      );
    });
  keys
    .command("create <name>")
    .description("make a key; its secret is shown once")
    .option("--scopes <scopes>", "comma-separated: agent, operator, admin", "agent")
    .option("--tenant <tenant>")
    .option("--expires <time>", "RFC 3339 time")
    .action(
      async (
        name: string,
        flags: { scopes: string; tenant?: string; expires?: string },
        command: Command,
      ) => {
        const { client, output } = cli(command);
        const key = await client.keys.create({
          name,
          scopes: flags.scopes.split(",").map((scope) => scope.trim()) as Scope[],
          tenant: flags.tenant,
          expires_at: flags.expires,
        });
        printOne(key, output);
      },
    );
  keys
    .command("remove <key>")
    .alias("rm")
    .action((id: string, _, command: Command) => cli(command).client.keys.remove(id));

  program
    .command("usage")
    .description("sessions, executions, seconds and bytes of a tenant")
    .option("--tenant <tenant>", "another tenant (operator scope)")
    .action(async (flags: { tenant?: string }, command: Command) => {
      const { client, output } = cli(command);
      printOne(await client.usage(flags.tenant), output);
    });
}
