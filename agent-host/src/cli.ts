/** @module The command line: what the words mean, and how to say it when they mean nothing. */
import { hostname } from "node:os";
import { parseArgs } from "node:util";

export const USAGE = `Usage: agent-host [run] [--config <file>] [--drain-on-exit]
       agent-host join <url> <token> [--name <name>]
       agent-host status | drain
       agent-host install | doctor | upgrade | uninstall [--help]
       agent-host --help | --version

  install    make this machine a host: checks, images, join, one systemd unit
  doctor     look whether this machine can be a host, or is a healthy one
  upgrade    put this version in place of the one that runs; sessions run on
  uninstall  take the host off this machine

  run        serve sessions for the control plane this host has joined (the default)
  join       register this host with a one-time token; "-" reads it from standard input
  status     say as JSON whether the daemon runs, and what it holds
  drain      stop every session on this host, and the daemon

Examples:
  agent-host install --url https://sandbar.example.com --token sbe_…
  agent-host join https://sandbar.example.com sbe_… --name vps-1 && agent-host run
  agent-host status

Settings are environment variables (SANDBAR_HOME, SANDBAR_URL, ...) or --config <file.json> with the same names.
Stopping the daemon leaves sessions running: the next one adopts them.
`;

export type Invocation =
  | { command: "run"; config?: string; drainOnExit: boolean }
  | { command: "join"; config?: string; url: string; token: string; name: string }
  | { command: "status" | "drain"; config?: string }
  | { command: "help" | "version"; config?: undefined };

export class UsageError extends Error {}

export function parseCommandLine(argv: string[]): Invocation {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(argv);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help) return { command: "help" };
  if (values.version) return { command: "version" };
  const [command = "run", ...rest] = positionals;
  const { config } = values;
  if (command === "join") {
    const [url, token] = rest;
    if (!url || !token || rest.length > 2) throw new UsageError("join needs <url> and <token>");
    if (!/^https?:\/\//.test(url) || !URL.canParse(url))
      // Not what was given instead: that may be the token.
      throw new UsageError("join needs an http or https URL first");
    return { command, config, url: url.replace(/\/+$/, ""), token, name: values.name ?? hostname() };
  }
  if (rest.length) throw new UsageError(`${rest[0]} is too much`);
  if (values.name) throw new UsageError("--name belongs to join");
  if (command === "run") return { command, config, drainOnExit: values["drain-on-exit"] ?? false };
  if (values["drain-on-exit"]) throw new UsageError("--drain-on-exit belongs to run");
  if (command === "status" || command === "drain") return { command, config };
  throw new UsageError(`unknown command ${command}`);
}

function parse(argv: string[]) {
  return parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      config: { type: "string" },
      name: { type: "string" },
      "drain-on-exit": { type: "boolean" },
      help: { type: "boolean", short: "h" },
      version: { type: "boolean" },
    },
  });
}
