/** @module `sandbar settings`: the agent's model, keys and manners, of the key's tenant. */
import type { PutSettings, Settings } from "@sandbar/sdk";
import { PROVIDERS, type Provider } from "@sandbar/shared";
import { Argument, type Command, Option } from "commander";
import { EXIT } from "../invocation/exit-codes.ts";
import { UsageError } from "../invocation/explain.ts";
import { type Cli, cli } from "../invocation/global-options.ts";
import { clean, dim, type Format, printJson, printList } from "../terminal/print.ts";
import { readSecret } from "../terminal/secret.ts";

type Name = Exclude<keyof PutSettings, "api_keys">;

const NAMES: readonly Name[] = [
  "model",
  "api_key",
  "base_url",
  "temperature",
  "iterations",
  "prompt",
  "approval",
  "read_only",
  "vision",
];
const NUMBERS = new Set<Name>(["temperature", "iterations"]);
const SWITCHES = new Set<Name>(["approval", "read_only", "vision"]);
const ON = new Set(["on", "true", "yes", "1"]);
const OFF = new Set(["off", "false", "no", "0"]);

const EXAMPLES = `
Examples:
  sandbar settings set model anthropic:claude-sonnet-4-5
  sandbar settings set api_key                     asks for it; it is not shown
  sandbar settings set api_key < key.txt
  sandbar settings set model ollama:qwen3          needs no key
  sandbar settings set approval on                 code waits for your word
  sandbar settings unset temperature               back to the operator's
  sandbar settings test                            one real call to the model`;

interface KeyFlags {
  provider?: Provider;
}

export function addSettings(program: Command): void {
  const settings = program
    .command("settings")
    .description("the agent's model, keys and manners")
    .addHelpText("after", EXAMPLES);
  settings
    .command("show", { isDefault: true })
    .description("what is set, and by whom; keys are never shown")
    .action(async (_, command: Command) => {
      const context = cli(command);
      showSettings(await context.client.settings.get(), context.output);
    });
  const provider = () =>
    new Option("--provider <name>", "whose api_key it is (default: the model's)").choices([...PROVIDERS]);
  settings
    .command("set")
    .description("change one; api_key is asked for, or read from standard input")
    .addArgument(new Argument("<name>").choices([...NAMES]))
    .argument("[value]", "- reads it from standard input")
    .addOption(provider())
    .action(async (name: Name, value: string | undefined, flags: KeyFlags, command: Command) => {
      const context = cli(command);
      await change(context, changeOf(name, await given(name, value, flags), flags));
    });
  settings
    .command("unset")
    .description("take one back to the operator's")
    .addArgument(new Argument("<name>").choices([...NAMES]))
    .addOption(provider())
    .action(async (name: Name, flags: KeyFlags, command: Command) =>
      change(cli(command), changeOf(name, null, flags)),
    );
  settings
    .command("test")
    .description("one real call to the model; says what the provider said")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      const { ok, detail, model, duration_ms } = await client.settings.test();
      if (output === "json") printJson({ ok, detail, model, duration_ms });
      else {
        const [line = ""] = detail.trim().split("\n");
        process.stdout.write(
          `${ok ? "✓" : "✗"} ${model ?? "no model"} (${duration_ms} ms): ${clean(line)}\n`,
        );
      }
      process.exitCode = ok ? EXIT.ok : EXIT.error;
    });
  settings
    .command("models")
    .description("which providers can be asked, and the models of an Ollama that runs")
    .action(async (_, command: Command) => {
      const { client, output } = cli(command);
      const { providers } = await client.settings.models();
      const columns = [
        { title: "provider", value: (item: (typeof providers)[0]) => item.provider },
        { title: "ready", value: (item: (typeof providers)[0]) => (item.ready ? "yes" : "no") },
        {
          title: "models",
          value: (item: (typeof providers)[0]) => item.models.join(" ") || (item.ready ? "-" : item.detail),
        },
      ];
      printList(providers, columns, output);
    });
}

async function given(name: Name, value: string | undefined, { provider }: KeyFlags): Promise<string> {
  if (name === "api_key") {
    if (value !== undefined && value !== "-")
      throw new UsageError(
        "a key does not belong on the command line, where others see it and the shell keeps it; leave it out and you are asked for it",
      );
    return readSecret(`API key${provider ? ` of ${provider}` : ""} (not shown): `);
  }
  if (value === "-") return readSecret(`${name}: `);
  if (value === undefined) throw new UsageError(`give a value for ${name}`);
  return value;
}

/** As the API takes it. */
export function changeOf(name: Name, value: string | null, { provider }: KeyFlags = {}): PutSettings {
  if (provider && name !== "api_key") throw new UsageError("--provider is for api_key");
  if (provider) return { api_keys: { [provider]: value } };
  return { [name]: value === null ? null : parsed(name, value) };
}

function parsed(name: Name, text: string): string | number | boolean | null {
  if (NUMBERS.has(name)) {
    if (text.trim() === "" || Number.isNaN(Number(text))) throw new UsageError(`${name} is a number`);
    return Number(text);
  }
  if (!SWITCHES.has(name)) return text;
  if (name === "vision" && text === "auto") return null;
  if (ON.has(text)) return true;
  if (OFF.has(text)) return false;
  throw new UsageError(`${name} is on or off`);
}

async function change({ client, output }: Cli, changes: PutSettings): Promise<void> {
  const settings = await client.settings.put(changes);
  if (output === "json") printJson(settings);
  else process.stderr.write(dim(`${settings.missing ?? `${settings.model} is ready`}${next(settings)}\n`));
}

export function showSettings(settings: Settings, output: Format): void {
  if (output === "json") {
    printJson(settings);
    return;
  }
  const { own } = settings;
  const rows = NAMES.filter((name) => name !== "api_key").map((name) => {
    const value = settings[name as keyof Settings];
    const text = value === null || value === "" ? "-" : String(value);
    return { name: name as string, value: text, from: own.includes(name) ? "you" : "operator" };
  });
  for (const [provider, key] of Object.entries(settings.api_keys))
    rows.splice(1, 0, {
      name: `api_key of ${provider}`,
      value: key.last_four ? `…${key.last_four}` : "set",
      from: key.from === "settings" ? "you" : "operator",
    });
  const columns = (["name", "value", "from"] as const).map((title) => ({
    title,
    value: (row: (typeof rows)[0]) => row[title],
  }));
  printList(rows, columns, output);
  if (settings.missing) process.stderr.write(`${settings.missing}${next(settings)}\n`);
}

/** The command that gets one further. */
export function next({ ready, model }: Pick<Settings, "ready" | "model">): string {
  if (ready) return "";
  return model
    ? " `sandbar settings set api_key` asks for it."
    : " `sandbar settings set model anthropic:claude-sonnet-4-5`, for example.";
}
