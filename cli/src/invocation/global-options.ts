/** @module Options that every command has, and the client and session they lead to. */
import { existsSync } from "node:fs";
import type { Session } from "@sandbar/sdk";
import { Sandbar, type SessionOptions } from "@sandbar/sdk";
import { Config } from "@sandbar/sdk/node";
import { type Command, Option } from "commander";
import type { Format } from "../terminal/print.ts";
import { UsageError } from "./explain.ts";
import { duration, mount, number, packages, pair, secret, several } from "./option-values.ts";
import { rememberKey } from "./refused-key.ts";
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
  // A command may have its own kind of one.
  for (const option of GLOBAL_OPTIONS)
    if (!command.options.some(({ long }) => long === option.long)) command.addOption(option);
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
  rememberKey(options.apiKey ? { ...config, apiKeyFrom: "--api-key" } : config);
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
  engine?: string;
  snapshot?: string;
  image?: string;
  storage?: string;
  datasets?: string;
  network?: string;
  allow?: string[];
  secret?: { host: string; header: string; secret: string }[];
  memory?: number;
  cpus?: number;
  dependencies?: Record<string, string>;
  ttl?: number;
  label?: Record<string, string>;
  volume?: { name: string; path: string }[];
  timeout?: number;
  keep?: boolean;
}

export function addSessionFlags(command: Command): Command {
  return command
    .option("-s, --session <id-or-key>", "session to use; a new key makes a session that stays")
    .addOption(
      new Option("-r, --runtime <runtime>", "language of a new session (default: python)").choices([
        "python",
        "node",
        "r",
        "bash",
      ]),
    )
    .addOption(
      new Option("--engine <engine>", "what runs a new session (default: any, containers first)").choices([
        "container",
        "wasm",
        "any",
      ]),
    )
    .option("--snapshot <id>", "snapshot that a new session begins with")
    .option("--image <image>", "image of a new session")
    .addOption(new Option("--storage <storage>", "storage of a new session").choices(["TMPFS", "BIND"]))
    .addOption(
      new Option("--datasets <access>", "datasets of a new session").choices(["NONE", "LOCAL_RO", "API"]),
    )
    .addOption(new Option("--network <network>", "network of a new session").choices(["none", "egress"]))
    .option("--allow <HOST>", "name that a new session may reach: a.b, *.a.b:443; repeatable", several)
    .option(
      "--secret <HOST HEADER NAME>",
      "stored secret that requests of a new session get; repeatable",
      secret,
    )
    .option("--memory <MB>", "memory limit of a new session", number)
    .option("--cpus <n>", "CPU limit of a new session", number)
    .option(
      "--dependencies <packages>",
      "packages of a new session: pandas==2.2,duckdb; repeatable",
      packages,
    )
    .option("--ttl <time>", "how long a new session may be idle: 90, 30m, 2h (default: 30m)", duration)
    .option("--label <NAME=VALUE>", "label of a new session, repeatable", pair)
    .option("--volume <NAME:PATH>", "volume of a new session and where it is, repeatable", mount);
}

/** The session that the flags name; without `--session` a fresh one, which `done` stops unless it is kept. */
export async function sessionFor(
  { client, config }: Cli,
  flags: SessionFlags,
  runtime = flags.runtime,
): Promise<{ session: Session; done: () => Promise<void>; kept?: boolean }> {
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
    ...(flags.session ? { key: flags.session } : {}),
    ...(flags.session || flags.keep ? {} : { labels: { ...asked.labels, "sandbar/cli": "temporary" } }),
  });
  if (flags.session) return { session: await making, done: async () => {} };
  if (flags.keep) return { session: await making, done: async () => {}, kept: true };
  return temporarySession(making);
}

const LIVE = new Set(["creating", "ready", "busy"]);

/** What the flags say about the session itself. */
function askedFor({
  runtime,
  engine,
  snapshot,
  image,
  storage,
  datasets,
  network,
  allow,
  secret: secrets,
  memory,
  cpus,
  dependencies,
  ttl,
  label,
  volume,
}: SessionFlags): SessionOptions {
  const limits = defined({ memory_mb: memory, cpus });
  const given = {
    runtime,
    engine,
    snapshot,
    image,
    storage,
    datasets,
    network: allow || secrets ? { allow: allow ?? [], secrets } : network,
    limits: isEmpty(limits) ? undefined : limits,
    dependencies,
    idle_ttl_s: ttl,
    labels: label,
    volumes: volume,
  };
  return defined(given) as SessionOptions;
}

const isEmpty = (fields: object) => Object.keys(fields).length === 0;
const defined = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
