/** @module Options that every command has, and the client and session they lead to. */
import { existsSync } from "node:fs";
import type { Session } from "@sandbar/sdk";
import { Sandbar, type SessionOptions } from "@sandbar/sdk";
import { Config } from "@sandbar/sdk/node";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Format } from "../terminal/print.ts";
import { UsageError } from "./explain.ts";
import { temporarySession } from "./temporary-session.ts";

export interface GlobalOptions {
  url?: string;
  apiKey?: string;
  envFile?: string;
  output?: Format;
}

const GLOBAL_OPTIONS = [
  new Option("--url <url>", "control plane (env SANDBAR_URL, default http://127.0.0.1:8787)"),
  new Option(
    "--api-key <key>",
    "API key (env SANDBAR_API_KEY, default the key file of this machine's Sandbar)",
  ),
  new Option("--env-file <file>", "read settings from an env file"),
  new Option("-o, --output <format>", "how to print answers (default: table)").choices(["table", "json"]),
];

/** On every command, so that they may stand before or after the verb. */
export function addGlobalOptions(command: Command): void {
  for (const option of GLOBAL_OPTIONS) command.addOption(option);
  for (const sub of command.commands) if (!WRAPPERS.has(sub.name())) addGlobalOptions(sub);
}

/** Commands that hand their words on as they are. */
const WRAPPERS = new Set(["up", "down", "__complete"]);

export interface Cli {
  client: Sandbar;
  config: Config;
  output: Format;
}

/** Reads the options of a command and of those above it. */
export function cli(command: Command): Cli {
  const options = command.optsWithGlobals<GlobalOptions>();
  if (options.envFile && !existsSync(options.envFile))
    throw new UsageError(`${options.envFile} does not exist`);
  const env = {
    ...process.env,
    ...(options.url ? { SANDBAR_URL: options.url } : {}),
    ...(options.apiKey ? { SANDBAR_API_KEY: options.apiKey } : {}),
  };
  const config = Config.fromEnv(options.envFile, env);
  return {
    client: new Sandbar({ url: config.url, apiKey: config.apiKey }),
    config,
    output: options.output ?? "table",
  };
}

/** A session that exists, by id or key. */
export async function existingSession({ client }: Cli, reference: string): Promise<Session> {
  if (reference.startsWith("ses_")) return client.getSession(reference);
  const session = await client.findSession(reference);
  if (!session)
    throw new UsageError(`no session has the key ${JSON.stringify(reference)}; see \`sandbar sessions\``);
  return session;
}

export interface SessionFlags {
  session?: string;
  runtime?: string;
  image?: string;
  storage?: string;
  datasets?: string;
  network?: string;
  memory?: number;
  cpus?: number;
  timeout?: number;
  keep?: boolean;
}

export function addSessionFlags(command: Command): Command {
  return command
    .option("-s, --session <id-or-key>", "session to use; a new key makes a session that stays")
    .addOption(new Option("-r, --runtime <runtime>").choices(["python", "node", "r", "bash"]))
    .option("--image <image>", "image of a new session")
    .addOption(new Option("--storage <storage>", "storage of a new session").choices(["TMPFS", "BIND"]))
    .addOption(
      new Option("--datasets <access>", "datasets of a new session").choices(["NONE", "LOCAL_RO", "API"]),
    )
    .addOption(new Option("--network <network>", "network of a new session").choices(["none", "egress"]))
    .option("--memory <MB>", "memory limit of a new session", number)
    .option("--cpus <n>", "CPU limit of a new session", number);
}

/** The session that the flags name; without `--session` a fresh one, which `done` stops unless it is kept. */
export async function sessionFor(
  { client, config }: Cli,
  flags: SessionFlags,
  runtime = flags.runtime,
): Promise<{ session: Session; done: () => Promise<void> }> {
  const asked = askedFor(flags);
  const found = !flags.session
    ? null
    : flags.session.startsWith("ses_")
      ? await client.getSession(flags.session)
      : await client.findSession(flags.session);
  // The API refuses a session that is there and not what the flags ask for. With the key of one that has ended it
  // would make another.
  if (found && LIVE.has(found.info.status) && !isEmpty(asked))
    await client.session({ ...asked, key: found.key });
  const limits = { ...config.session.limits, ...asked.limits };
  if (found) return { session: found, done: async () => {} };
  const making = client.session({
    ...config.session,
    ...(runtime ? { runtime: runtime as "python" } : {}),
    ...asked,
    ...(isEmpty(limits) ? {} : { limits }),
    ...(flags.session ? { key: flags.session } : { labels: { "sandbar/cli": "temporary" } }),
  });
  if (flags.session || flags.keep) return { session: await making, done: async () => {} };
  return temporarySession(making);
}

const LIVE = new Set(["creating", "ready", "busy"]);

/** What the flags say about the session itself. */
function askedFor({
  runtime,
  image,
  storage,
  datasets,
  network,
  memory,
  cpus,
}: SessionFlags): SessionOptions {
  const limits = defined({ memory_mb: memory, cpus });
  const given = { runtime, image, storage, datasets, network, limits: isEmpty(limits) ? undefined : limits };
  return defined(given) as SessionOptions;
}

const isEmpty = (fields: object) => Object.keys(fields).length === 0;
const defined = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

export function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || Number.isNaN(value)) throw new InvalidArgumentError("must be a number");
  return value;
}

export function positive(text: string): number {
  const value = number(text);
  if (value <= 0) throw new InvalidArgumentError("must be more than 0");
  return value;
}

export function pair(text: string, soFar: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("must be NAME=VALUE");
  return { ...soFar, [text.slice(0, at)]: text.slice(at + 1) };
}
