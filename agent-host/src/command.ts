/** @module The commands of agent-host: run, join, status, drain. Importing it carries out the one that was typed. */
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { VERSION } from "@sandbar/shared";
import { parseCommandLine, USAGE, UsageError } from "./cli.ts";
import { type DaemonMode, EXIT, runDaemon } from "./daemon.ts";
import { type Config, ConfigError, readConfig } from "./host/config.ts";
import { isDiskFailure } from "./host/disk-failure.ts";
import { IdentityError, readIdentity } from "./host/identity.ts";
import { liveDaemon } from "./host/lock.ts";
import { createLog } from "./host/log.ts";
import { join } from "./join.ts";
import { Journal } from "./journal/journal.ts";

/** Without any session ending meanwhile. */
const STUCK_MS = 60_000;

async function main(argv: string[]): Promise<number> {
  const invocation = parseCommandLine(argv);
  if (invocation.command === "help") return say(USAGE);
  if (invocation.command === "version") return say(`${VERSION}\n`);
  const config = readConfig(process.env, invocation.config);
  switch (invocation.command) {
    case "join": {
      const token = invocation.token === "-" ? (await text(process.stdin)).trim() : invocation.token;
      const identity = await join(config, { ...invocation, token }, createLog(config.logLevel));
      return say(`Joined ${identity.url} as ${identity.host_id}. Start it with: agent-host run\n`);
    }
    case "status":
      return status(config);
    case "drain":
      return drain(config);
    case "run":
      return run(config, invocation.drainOnExit ? "serve, then drain" : "serve");
  }
}

async function run(config: Config, mode: DaemonMode): Promise<number> {
  const identity = readIdentity(config.home);
  if (!identity)
    throw new IdentityError(
      `this host has not joined yet (no identity in ${config.home}); see agent-host join`,
    );
  const log = createLog(config.logLevel);
  process.on("unhandledRejection", (error) => {
    log.fatal({ err: error }, "unhandled rejection");
    process.exit(EXIT.failed);
  });
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "uncaught exception");
    process.exit(EXIT.failed);
  });
  return runDaemon(config, identity, log, mode);
}

function status(config: Config): number {
  const identity = readIdentity(config.home);
  const daemon = liveDaemon(config.home);
  const journal = identity ? new Journal(config.home) : null;
  const sessions =
    journal?.sessions().map(({ id, state, sandbox }) => ({ id, state, container: sandbox })) ?? [];
  const pool: Record<string, number> = {};
  for (const { key, warm } of journal?.poolBoxes() ?? []) {
    const { runtime } = JSON.parse(key);
    pool[runtime] = (pool[runtime] ?? 0) + warm;
  }
  const epoch = journal?.epoch() ?? null;
  journal?.close();
  say(
    `${JSON.stringify(
      {
        joined: identity !== null,
        host_id: identity?.host_id,
        url: config.url ?? identity?.url,
        version: VERSION,
        pid: daemon?.pid ?? null,
        epoch,
        sessions,
        pool,
      },
      null,
      2,
    )}\n`,
  );
  return daemon ? EXIT.ok : EXIT.failed;
}

/** A running daemon drains itself; without one, this process becomes a daemon just for that. */
async function drain(config: Config): Promise<number> {
  const daemon = liveDaemon(config.home);
  if (!daemon) {
    if (!readIdentity(config.home)) return EXIT.ok;
    return run(config, "drain");
  }
  process.kill(daemon.pid, "SIGUSR2");
  let said: number | null = null;
  for (let since = Date.now(); Date.now() - since < STUCK_MS; await sleep(100)) {
    if (liveDaemon(config.home)?.pid !== daemon.pid) {
      process.stderr.write("drained\n");
      return EXIT.ok;
    }
    const left = sessionsLeft(config);
    if (left === said) continue;
    process.stderr.write(`${left} ${left === 1 ? "session" : "sessions"} left\n`);
    said = left;
    since = Date.now();
  }
  throw new Error("the daemon does not finish draining");
}

function sessionsLeft({ home }: Config): number {
  const journal = new Journal(home);
  try {
    return journal.sessions().filter(({ report }) => report.state === "ready" || report.state === "creating")
      .length;
  } finally {
    journal.close();
  }
}

function say(text: string): number {
  process.stdout.write(text);
  return EXIT.ok;
}

try {
  // Docker's and the link's sockets would keep the process alive; everything that matters is on disk by now.
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(EXIT.usage);
  }
  const known = error instanceof ConfigError || error instanceof IdentityError;
  if (isDiskFailure(error)) process.stderr.write(`${error.message}; is the disk of SANDBAR_HOME full?\n`);
  else process.stderr.write(`${known ? (error as Error).message : ((error as Error).stack ?? error)}\n`);
  process.exit(EXIT.failed);
}
