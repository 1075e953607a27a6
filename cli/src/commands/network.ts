/** @module `sandbar network`: what a session may reach, what it did reach, and other rules while it runs. */
import type { SessionNetwork } from "@sandbar/sdk";
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { type Cli, cli, existingSession } from "../invocation/global-options.ts";
import { secret, several } from "../invocation/option-values.ts";
import { age, clean, printJson, printList, size } from "../terminal/print.ts";

const EXAMPLES = `
Examples:
  sandbar run --allow pypi.example.org --allow '*.example.com:443' -c '…'
  sandbar network show thread-42
  sandbar network set thread-42 --allow files.example.org
  sandbar network set thread-42 --nothing                    from now on it reaches nothing`;

interface Rules {
  allow?: string[];
  secret?: ReturnType<typeof secret>;
  nothing?: boolean;
}

export function addNetwork(program: Command): void {
  const network = program
    .command("network")
    .description("what a session may reach by name, and what it has reached")
    .addHelpText("after", EXAMPLES);
  network
    .command("show <session>", { isDefault: true })
    .description("rules, counts and the newest connections")
    .action(async (reference: string, _, command: Command) => {
      const context = cli(command);
      print(await (await existingSession(context, reference)).network(), context);
    });
  network
    .command("set <session>")
    .description("other rules, instead of those before; what they do not allow ends")
    .option("--allow <HOST>", "a.b, *.a.b, a.b:8443; repeatable", several)
    .option("--secret <HOST HEADER NAME>", "stored secret that its requests get; repeatable", secret)
    .option("--nothing", "reach nothing at all")
    .action(async (reference: string, { allow, secret, nothing }: Rules, command: Command) => {
      if (!(allow || secret) === !nothing) throw new UsageError("give --allow HOST, --secret, or --nothing");
      const context = cli(command);
      const session = await existingSession(context, reference);
      print(await session.setNetwork({ allow: allow ?? [], secrets: secret }), context);
    });
}

function print(network: SessionNetwork, { output }: Cli): void {
  if (output === "json") {
    printJson(network);
    return;
  }
  const { allow, secrets, use } = network;
  process.stdout.write(`allow  ${clean(allow.join(" ")) || "-"}\n`);
  for (const { host, header, secret } of secrets)
    process.stdout.write(`secret ${clean(`${host} ${header} ${secret ?? "(its own)"}`)}\n`);
  process.stdout.write(
    `${use.connections} connections, ${use.open} open, ${use.denied} denied, ` +
      `${size(use.bytes_up)} up, ${size(use.bytes_down)} down\n`,
  );
  if (use.recent.length === 0) return;
  printList(
    use.recent.toReversed(),
    [
      { title: "when", value: (one) => age(one.at), right: true },
      { title: "host", value: (one) => `${one.host}:${one.port}` },
      { title: "outcome", value: (one) => one.outcome },
      { title: "up", value: (one) => size(one.bytes_up), right: true },
      { title: "down", value: (one) => size(one.bytes_down), right: true },
      { title: "why", value: (one) => one.detail },
    ],
    "table",
  );
}
