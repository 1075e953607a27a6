/** @module `sandbar hosts`, `keys` and `usage`: for those who run Sandbar. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbar } from "@sandbar/sdk";
import { installLine, type Scope } from "@sandbar/shared";
import { type Command, Option } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { cli } from "../invocation/global-options.ts";
import { age, type Column, printJson, printList, printOne, size } from "../terminal/print.ts";

type HostRow = Awaited<ReturnType<ReturnType<typeof cli>["client"]["hosts"]["get"]>>;

export const HOST_COLUMNS: Column<HostRow>[] = [
  { title: "id", value: (h) => h.id },
  { title: "name", value: (h) => h.name },
  { title: "status", value: hostStatus },
  { title: "sessions", value: (h) => `${h.sessions}/${h.capacity?.max_sessions ?? "?"}`, right: true },
  { title: "cpus", value: (h) => h.capacity?.cpus, right: true },
  { title: "memory", value: (h) => (h.capacity ? `${h.capacity.memory_mb} MB` : null), right: true },
  { title: "runtimes", value: (h) => h.capacity?.runtimes.join(",") },
  { title: "seen", value: (h) => age(h.last_seen_at), right: true },
];

type UsagePoint = Awaited<ReturnType<Sandbar["usageSeries"]>>["data"][number];

const STEPS = { minute: 60, hour: 3600, day: 86_400 } as const;

const ms = (value: number | null) => (value === null ? null : `${Math.round(value)} ms`);
const USAGE_COLUMNS: Column<UsagePoint>[] = [
  { title: "from", value: (p) => p.at },
  { title: "executions", value: (p) => p.executions, right: true },
  { title: "failed", value: (p) => Object.values(p.errors).reduce((sum, n) => sum + n, 0), right: true },
  { title: "median", value: (p) => ms(p.p50_ms), right: true },
  { title: "95 %", value: (p) => ms(p.p95_ms), right: true },
  { title: "at once", value: (p) => p.sessions_peak, right: true },
  { title: "made", value: (p) => p.sessions_created, right: true },
  { title: "artifacts", value: (p) => size(p.artifact_bytes), right: true },
];

function hostStatus({ status, cordoned, drain }: HostRow): string {
  if (drain?.state === "draining") return `${status}, draining: ${drain.left} of ${drain.sessions} left`;
  if (drain) return `${status}, drained`;
  return cordoned ? `${status}, cordoned` : status;
}

export function addOperator(program: Command): void {
  const hosts = program.command("hosts").alias("host").description("Docker hosts (operator scope)");
  hosts
    .command("list", { isDefault: true })
    .description("every host, with what it can take")
    .alias("ls")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      printList(await client.hosts.list().all(), HOST_COLUMNS, output);
    });
  hosts
    .command("get <host>")
    .description("one host, by id or name")
    .action(async (reference: string, _, command: Command) => {
      const { client, output } = cli(command);
      printOne(await client.hosts.get(await hostId(client, reference)), output);
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
          `on the new host, as root, with the package that \`npm run pack\` writes to dist/:\n  ${installLine(client.url, enrollment.token)}\n`,
        );
    });
  for (const [verb, description, done] of [
    ["cordon", "place nothing new there", "cordoned"],
    ["uncordon", "place sessions there again", "uncordoned"],
    ["remove", "forget a host", "removed"],
  ] as const)
    hosts
      .command(`${verb} <host>`)
      .aliases(verb === "remove" ? ["rm"] : [])
      .description(description)
      .action(async (reference: string, _, command: Command) => {
        const { client } = cli(command);
        const id = await hostId(client, reference);
        await client.hosts[verb](id);
        process.stderr.write(`${done} ${id}\n`);
      });
  hosts
    .command("drain <host>")
    .description("cordon, and stop its sessions; waits until they are gone")
    .option("--no-wait", "come back at once; `sandbar hosts` shows how far it is")
    .action(async (reference: string, { wait }: { wait: boolean }, command: Command) => {
      const { client } = cli(command);
      const id = await hostId(client, reference);
      await client.hosts.drain(id);
      if (wait) await followDrain(client, id);
      else process.stderr.write(`draining ${id}\n`);
    });

  const keys = program.command("keys").alias("key").description("API keys (admin scope)");
  keys
    .command("list", { isDefault: true })
    .description("keys of this control plane")
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
    .option("--tenant <tenant>", "tenant of the key (default: that of the key in use)")
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
    .description("remove a key; it is refused from now on")
    .alias("rm")
    .action(async (id: string, _, command: Command) => {
      await cli(command).client.keys.remove(id);
      process.stderr.write(`removed ${id}\n`);
    });

  program
    .command("usage")
    .description("sessions, executions, seconds and bytes of a tenant")
    .option("--tenant <tenant>", "another tenant (operator scope)")
    .addOption(new Option("--by <step>", "over time, one line for each").choices(Object.keys(STEPS)))
    .action(async ({ tenant, by }: { tenant?: string; by?: keyof typeof STEPS }, command: Command) => {
      const { client, output } = cli(command);
      if (!by) return printOne(await client.usage(tenant), output);
      const series = await client.usageSeries({ step: STEPS[by], tenant });
      if (output === "json") printJson(series);
      else printList(series.data, USAGE_COLUMNS, output);
    });
}

/** Says how many are left whenever that changes. Who leaves does not end the drain. */
async function followDrain(client: Sandbar, id: string): Promise<void> {
  let said = "";
  for (;;) {
    const { drain, status } = await client.hosts.get(id);
    if (!drain) throw new Error(`${id} is no longer being drained: somebody has uncordoned it`);
    const left = `${drain.left} of ${drain.sessions} sessions left`;
    const line = drain.state === "drained" ? `drained ${id}` : `draining ${id}: ${left}`;
    const told = status === "online" ? line : `${line}; the host is ${status}`;
    if (told !== said) process.stderr.write(`${told}\n`);
    said = told;
    if (drain.state === "drained") return;
    await sleep(500);
  }
}

/** Of a host by id or name. What nobody is called goes to the API, which says so. */
async function hostId(client: Sandbar, reference: string): Promise<string> {
  const known = await client.hosts.list().all();
  if (known.some(({ id }) => id === reference)) return reference;
  const named = known.filter(({ name }) => name === reference);
  if (named.length > 1)
    throw new UsageError(
      `${named.length} hosts are called ${reference}; give an id: ${named.map(({ id }) => id).join(", ")}`,
    );
  return named[0]?.id ?? reference;
}
