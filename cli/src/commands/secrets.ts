/** @module `sandbar secrets`: what sessions' network may refer to by name, and code never sees. */
import type { Command } from "commander";
import { cli } from "../invocation/global-options.ts";
import { several } from "../invocation/option-values.ts";
import { age, printList, printOne } from "../terminal/print.ts";
import { readSecret } from "../terminal/secret.ts";

const EXAMPLES = `
Examples:
  sandbar secrets set billing --host api.example.com      asks for the value; it is not shown
  sandbar secrets set billing --host api.example.com < token.txt
  sandbar run --allow files.example.org --secret 'api.example.com Authorization billing' -c '…'`;

export function addSecrets(program: Command): void {
  const secrets = program
    .command("secrets")
    .alias("secret")
    .description("headers for sessions' network that code never sees")
    .addHelpText("after", EXAMPLES);
  secrets
    .command("list", { isDefault: true })
    .alias("ls")
    .description("names and hosts, never values")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      printList(
        await client.secrets.list(),
        [
          { title: "name", value: (one) => one.name },
          { title: "hosts", value: (one) => one.hosts.join(" ") || "any" },
          { title: "changed", value: (one) => age(one.updated_at), right: true },
        ],
        output,
      );
    });
  secrets
    .command("set <name>")
    .description(
      "a new one, or another value: the whole header, such as Bearer …; asked for, or read from standard input",
    )
    .option("--host <HOST>", "where it may be sent: a.b, a.b:8443; repeatable (default: anywhere)", several)
    .action(async (name: string, flags: { host?: string[] }, command: Command) => {
      const { client, output } = cli(command);
      const value = await readSecret(`value of ${name}: `);
      printOne(await client.secrets.put(name, { value, hosts: flags.host ?? [] }), output);
    });
  secrets
    .command("delete <name>")
    .aliases(["rm", "remove"])
    .description("remove one; sessions that refer to it no longer reach its host")
    .action((name: string, _, command: Command) => cli(command).client.secrets.remove(name));
}
