/** @module `sandbar config`: the saved URL and key. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Sandbar } from "@sandbar/sdk";
import { readSavedConfig, savedConfigPath } from "@sandbar/sdk/node";
import { Argument, type Command } from "commander";
import { cli } from "../invocation/global-options.ts";
import { printOne } from "../terminal/print.ts";

export function addConfig(program: Command): void {
  const config = program.command("config").description("the saved URL and API key");
  config
    .command("show", { isDefault: true })
    .description("what commands use, and where it comes from")
    .action((_, command: Command) => {
      const { config, output } = cli(command);
      const { url, apiKeyFrom, session } = config;
      printOne({ url, api_key_from: apiKeyFrom, session, config_file: savedConfigPath() }, output);
    });
  config
    .command("set")
    .description("save a setting")
    .addArgument(new Argument("<name>").choices(["url", "api_key"]))
    .argument("<value>")
    .action((name: string, value: string) => {
      // Refuses what no command could use.
      if (name === "url") new Sandbar({ url: value, apiKey: "" });
      const path = savedConfigPath();
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, `${JSON.stringify({ ...readSavedConfig(), [name]: value }, null, 2)}\n`, {
        mode: 0o600,
      });
    });
}
