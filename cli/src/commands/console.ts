/** @module What leads into a browser, `sandbar console`, `ports` and `preview`; and `sandbar whoami`. */
import { spawn } from "node:child_process";
import type { Me } from "@sandbar/shared";
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { cli, existingSession } from "../invocation/global-options.ts";
import { age, type Format, printList, printOne } from "../terminal/print.ts";

export function addConsole(program: Command): void {
  program
    .command("console")
    .description("a link that signs a browser in to the console, once, within 10 minutes")
    .option("--open", "open it in this machine's browser")
    .action(async ({ open }: { open?: boolean }, command: Command) => {
      const { client, output } = cli(command);
      show(await client.consoleLink(), output, open);
    });

  program
    .command("ports <session>")
    .description("where something listens inside a session")
    .action(async (reference: string, _, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      printList(
        await session.ports(),
        [
          { title: "port", value: ({ port }) => port, right: true },
          { title: "address", value: ({ addresses }) => addresses.join(",") },
          { title: "pid", value: ({ pid }) => pid, right: true },
          { title: "process", value: ({ process_id }) => process_id },
          { title: "command", value: ({ command: words }) => words },
        ],
        context.output,
      );
    });

  program
    .command("preview <session> <port>")
    .description("a link that shows a server of a session in a browser for an hour")
    .option("--open", "open it in this machine's browser")
    .action(async (reference: string, port: string, { open }: { open?: boolean }, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      show(await session.preview(portNumber(port)), context.output, open);
    });

  program
    .command("whoami")
    .description("the tenant, key and scopes that the server knows you by")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      const me = await client.me();
      printOne(output === "json" ? me : inWords(me, client.url), output);
    });
}

function inWords({ tenant, scopes, key, expires_at }: Me, url: string) {
  return {
    tenant,
    scopes: scopes.join(", "),
    key: `${key.name} (${key.id})`,
    expires: expires_at ? `${age(expires_at)} (${expires_at})` : "never",
    url,
  };
}

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new UsageError(`${text} is no port: give a number from 1 to 65535`);
  return port;
}

function show(link: { url: string }, output: Format, open = false): void {
  if (output === "table") process.stdout.write(`${link.url}\n`);
  else printOne(link, output);
  if (open) openInBrowser(link.url);
}

/** Not waited for: the link is printed all the same. */
function openInBrowser(url: string): void {
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  child.once("error", () =>
    process.stderr.write(`${opener} is not on this machine; open the link yourself\n`),
  );
  child.unref();
}
