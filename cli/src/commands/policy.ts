/** @module `sandbar policy`: what tenants may do, and how much they may have. */
import { type Policy, PolicySchema } from "@sandbar/shared";
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { type Cli, cli } from "../invocation/global-options.ts";
import { clean, printJson, printList, printOne } from "../terminal/print.ts";

const EXAMPLES = `
Examples:
  sandbar policy                                            what your own tenant may do
  sandbar policy show acme
  sandbar policy set acme allow.egress=no engines=container
  sandbar policy set acme max.memory_mb=2048 shares.sessions=10
  sandbar policy set acme allow.imports=/srv/acme,/srv/common
  sandbar policy set acme shares.sessions=                  back to what holds for all
  sandbar policy set '*' shares.memory_mb=16384             for all tenants
  sandbar policy remove acme`;

export function addPolicy(program: Command): void {
  const policy = program
    .command("policy")
    .alias("policies")
    .description("what tenants may do, and how much they may have (operator scope for other tenants')")
    .addHelpText("after", EXAMPLES);
  policy
    .command("show", { isDefault: true })
    .description("what holds for a tenant")
    .argument("[tenant]", "yours, if none is named; * for all tenants")
    .action(async (tenant: string | undefined, _, command: Command) => {
      const { client, output } = cli(command);
      if (tenant === undefined) printOne(await client.policy(), output);
      else printOne(await client.policies.get(tenant), output);
    });
  policy
    .command("list")
    .alias("ls")
    .description("those that were set")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      printList(
        await client.policies.list().all(),
        [
          { title: "tenant", value: (one) => one.tenant },
          { title: "policy", value: (one) => assignments(one.policy).join(" ") },
          { title: "changed", value: (one) => one.updated_at },
        ],
        output,
      );
    });
  policy
    .command("set <tenant> <changes...>")
    .description("name=value; what is not named stays, an empty value takes one back")
    .action(async (tenant: string, changes: string[], _, command: Command) =>
      set(cli(command), tenant, changes),
    );
  policy
    .command("remove <tenant>")
    .alias("rm")
    .description("back to what holds for all tenants")
    .action((tenant: string, _, command: Command) => cli(command).client.policies.remove(tenant));
}

async function set({ client, output }: Cli, tenant: string, changes: readonly string[]): Promise<void> {
  const { policy } = await client.policies.get(tenant);
  const saved = await client.policies.put(tenant, changed(policy, changes));
  if (output === "json") printJson(saved);
  else for (const line of assignments(saved.policy)) process.stdout.write(`${clean(line)}\n`);
}

/** Of the wall: that none is demanded. */
const ANY = "any";

/** The policy with `name=value` changes made, or what is wrong with them. */
export function changed(before: Policy, changes: readonly string[]): Policy {
  const after = structuredClone(before) as Record<string, unknown>;
  for (const change of changes) {
    const [, path, value] = /^([a-z_.]+)=(.*)$/.exec(change) ?? [];
    if (path === undefined || value === undefined)
      throw new UsageError(`${change} is not name=value, such as allow.egress=no`);
    const [group, name] = path.split(".");
    if (name === undefined) {
      if (value === "") delete after[group!];
      else if (group === "isolation" && value === ANY) after[group] = null;
      else after[group!] = group === "engines" ? value.split(",") : value;
      continue;
    }
    const fields = { ...(after[group!] as Record<string, unknown>) };
    if (value === "") delete fields[name];
    else fields[name] = parsed(value);
    after[group!] = fields;
  }
  const checked = PolicySchema.safeParse(after);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new UsageError(`${issue!.path.join(".") || "policy"}: ${issue!.message}`);
}

function parsed(text: string): unknown {
  if (["yes", "on", "true"].includes(text)) return true;
  if (["no", "off", "false"].includes(text)) return false;
  if (text === "unlimited") return null;
  if (text.startsWith("/")) return text.split(",");
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function assignments(policy: Policy): string[] {
  return Object.entries(policy).flatMap(([group, fields]) =>
    fields === null || typeof fields === "string" || Array.isArray(fields)
      ? [`${group}=${fields === null ? ANY : String(fields)}`]
      : Object.entries(fields).map(([name, value]) => `${group}.${name}=${shown(value)}`),
  );
}

function shown(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === null) return "unlimited";
  return Array.isArray(value) ? value.join(",") : String(value);
}
