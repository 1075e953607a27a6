/** @module `sandbar config`: the saved URL and key. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Sandbar } from "@sandbar/sdk";
import { readSavedConfig, savedConfigPath } from "@sandbar/sdk/node";
import { Argument, type Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
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
    .addArgument(settingName())
    .argument("<value>")
    .action((name: Setting, value: string) => {
      // Refuses what no command could use.
      if (name === "url") new Sandbar({ url: value, apiKey: "" });
      save({ ...readSavedConfig(), [name]: value });
      process.stderr.write(`saved ${name} in ${savedConfigPath()}\n`);
    });
  config
    .command("get")
    .description("print a saved setting")
    .addArgument(settingName())
    .action((name: Setting) => {
      const value = readSavedConfig()[name];
      if (value === undefined) throw new UsageError(`no ${name} is saved in ${savedConfigPath()}`);
      process.stdout.write(`${value}\n`);
    });
  config
    .command("unset")
    .description("forget a saved setting")
    .addArgument(settingName())
    .action((name: Setting) => {
      const { [name]: value, ...others } = readSavedConfig();
      if (value === undefined) throw new UsageError(`no ${name} is saved in ${savedConfigPath()}`);
      save(others);
      process.stderr.write(`removed ${name} from ${savedConfigPath()}\n`);
    });
}

const SETTINGS = ["url", "api_key"] as const;
type Setting = (typeof SETTINGS)[number];

const settingName = () => new Argument("<name>").choices(SETTINGS);

function save(settings: ReturnType<typeof readSavedConfig>): void {
  const path = savedConfigPath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
}
