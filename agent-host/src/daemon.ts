/** @module The daemon's life: takes its home, adopts what an earlier one left, serves, and goes. */
import { VERSION } from "@sandbar/shared";
import { BindFolders } from "./box/bind-folders.ts";
import { type DaemonParts, makeParts } from "./daemon-parts.ts";
import { dockerAnswers } from "./docker/docker-answers.ts";
import { DockerEngine } from "./docker/docker-engine.ts";
import type { Engine } from "./engine/engine.ts";
import { registerGauges } from "./gauges.ts";
import type { Config } from "./host/config.ts";
import type { Identity } from "./host/identity.ts";
import { takeLock } from "./host/lock.ts";
import type { Log } from "./host/log.ts";
import { MetricsServer } from "./metrics/metrics-server.ts";
import { adoptSessions, sweepAgainAndAgain } from "./session/reconcile.ts";
import { WasmEngine } from "./wasm/wasm-engine.ts";

export const EXIT = { ok: 0, failed: 1, usage: 2, superseded: 3, removed: 4 } as const;

/** `drain` serves nobody: it adopts what is there, stops it and goes. */
export type DaemonMode = "serve" | "serve, then drain" | "drain";

export type OpenEngine = (
  config: Config,
  hostId: string,
  bindFolders: BindFolders,
  log: Log,
) => Promise<Engine>;

/** Runs until told to go; the answer is the process's exit code. Without a drain, sandboxes are left as they are. */
export async function runDaemon(
  config: Config,
  identity: Identity,
  log: Log,
  mode: DaemonMode,
  openEngine: OpenEngine = openUsualEngine,
): Promise<number> {
  let drains = mode !== "serve";
  const end = Promise.withResolvers<number>();
  const stop = new AbortController();
  const lock = await takeLock(config.home, log);
  const bindFolders = new BindFolders(config, log);
  const parts = await makeParts({
    config,
    identity,
    engine: await openEngine(config, identity.host_id, bindFolders, log),
    bindFolders,
    log,
    onJournalBroken: (error) => {
      log.fatal({ err: error }, "the journal cannot be written: ending; sessions run on for the next daemon");
      process.exit(EXIT.failed);
    },
    onEnd: (reason) => {
      log.error({ reason }, GOING[reason]);
      end.resolve(EXIT[reason]);
    },
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => end.resolve(EXIT.ok));
  process.on("SIGUSR2", () => {
    drains = true;
    end.resolve(EXIT.ok);
  });

  await takeUp(parts, stop.signal);
  if (mode === "drain") end.resolve(EXIT.ok);
  else serve(parts);
  const figures = serveFigures(parts);
  log.info({ host: identity.host_id, home: config.home, version: VERSION }, "agent-host runs");
  const code = await end.promise;

  parts.pool.stop();
  if (drains) await drain(parts);
  log.info({ code }, drains ? "drained; going" : "going; sessions run on");
  stop.abort();
  figures?.stop();
  await parts.spans?.flush();
  close(parts);
  lock.release();
  return code;
}

/** One engine for each daemon: the one that is asked for, else Docker where it answers. */
const openUsualEngine: OpenEngine = async (config, hostId, bindFolders, log) => {
  const chosen = config.engine ?? ((await dockerAnswers()) ? "docker" : "wasm");
  log.info({ engine: chosen }, config.engine ? "engine as configured" : "engine as found");
  return chosen === "wasm"
    ? WasmEngine.open(config, bindFolders, log)
    : DockerEngine.open(config, hostId, bindFolders, log);
};

const GOING = {
  superseded: "a newer daemon has this host's id; going",
  removed: "this host was removed; going (agent-host join makes this machine a new one)",
} as const;

/** From what an earlier daemon left, to sessions that are watched over. */
async function takeUp(parts: DaemonParts, signal: AbortSignal): Promise<void> {
  const { engine, sessions, pool, capacity, link, datasetCache, exports } = parts;
  await datasetCache.clear();
  await exports.clear();
  await engine.start();
  await adoptSessions(parts);
  await capacity.start((now) => link.send({ t: "capacity", capacity: now }));
  engine.followDeaths(
    {
      onDeath: (sandbox) => {
        sessions.onSandboxDeath(sandbox);
        pool.onSandboxDeath(sandbox);
      },
      onResync: () => void sessions.checkAll(),
    },
    signal,
  );
  sweepAgainAndAgain(parts, signal);
}

function serve({ link, pool, metrics }: DaemonParts): void {
  link.start();
  pool.start();
  metrics.start();
}

function serveFigures(parts: DaemonParts): MetricsServer | null {
  const { config, figures, log } = parts;
  if (config.metricsPort === 0) return null;
  registerGauges(parts);
  const server = new MetricsServer(config.metricsPort, figures.registry, log);
  server.start();
  return server;
}

async function drain({ pool, sessions, removals, leftFolders, engine }: DaemonParts): Promise<void> {
  await Promise.all([pool.drain(), ...sessions.all().map((session) => session.drain())]);
  await removals.finished();
  await leftFolders.sweep(() => true);
  await leftFolders.finished();
  await engine.clearAway();
}

function close({ removals, capacity, metrics, link, datasetJournal, journal }: DaemonParts): void {
  removals.stop();
  capacity.stop();
  metrics.stop();
  link.stop();
  datasetJournal.close();
  journal.close();
}
