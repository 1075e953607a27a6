/** @module `sandbar console`, a link that signs a browser in, and `sandbar whoami`. */
import { spawn } from "node:child_process";
import type { Command } from "commander";
import { cli } from "../invocation/global-options.ts";
import { printOne } from "../terminal/print.ts";

export function addConsole(program: Command): void {
  program
    .command("console")
    .description("a link that signs a browser in to the console, once, within 10 minutes")
    .option("--open", "open it in this machine's browser")
    .action(async ({ open }: { open?: boolean }, command: Command) => {
      const { client, output } = cli(command);
      const link = await client.consoleLink();
      if (output === "table") process.stdout.write(`${link.url}\n`);
      else printOne(link, output);
      if (open) openInBrowser(link.url);
    });

  program
    .command("whoami")
    .description("the tenant, key and scopes that the server knows you by")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      printOne(await client.me(), output);
    });
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
