/** @module The daemon: its parts, tied together. */
import { randomUUID } from "node:crypto";
import type { ServerFrame } from "@sandbar/shared";
import { VERSION } from "@sandbar/shared";
import { ArtifactExport } from "./artifacts/artifact-export.ts";
import { ArtifactIngest } from "./artifacts/artifact-ingest.ts";
import { CommandAcks } from "./control-plane/command-acks.ts";
import { ControlPlaneHttp } from "./control-plane/control-plane-http.ts";
import { Link } from "./control-plane/link.ts";
import { CommandOrder } from "./control-plane/order.ts";
import { SignedRequests } from "./control-plane/signed-requests.ts";
import { DatasetCache } from "./datasets/dataset-cache.ts";
import { DatasetJournal } from "./datasets/dataset-journal.ts";
import { Datasets } from "./datasets/datasets.ts";
import { DockerEngine } from "./docker/docker-engine.ts";
import { CapacityWatch } from "./engine/capacity.ts";
import { Removals } from "./engine/removals.ts";
import { volumeCalls } from "./engine/volume-calls.ts";
import { ReportWindows } from "./execution/report-window.ts";
import { SettledOutcomes } from "./execution/settled-outcomes.ts";
import { FileCalls } from "./files/file-calls.ts";
import { Tunnels } from "./guest/tunnels.ts";
import type { Config } from "./host/config.ts";
import { createSigner, type Identity } from "./host/identity.ts";
import { takeLock } from "./host/lock.ts";
import type { Log } from "./host/log.ts";
import { Journal } from "./journal/journal.ts";
import { Pool } from "./pool/pool.ts";
import { ProcessCalls } from "./processes/process-calls.ts";
import { HostCalls } from "./session/host-calls.ts";
import { adoptSessions, sweepAgainAndAgain } from "./session/reconcile.ts";
import type { SessionContext } from "./session/session-context.ts";
import { Sessions } from "./session/sessions.ts";

/** An earlier command that does not come within this time is asked for by a new connection. */
const GAP_MS = 5000;

export const EXIT = { ok: 0, failed: 1, usage: 2, superseded: 3, removed: 4 } as const;

type CommandFrame = Extract<ServerFrame, { t: "command" }>;

/** `drain` serves nobody: it adopts what is there, stops it and goes. */
export type DaemonMode = "serve" | "serve, then drain" | "drain";

/** Runs until told to go; the answer is the process's exit code. Without a drain, containers are left as they are. */
export async function runDaemon(
  config: Config,
  identity: Identity,
  log: Log,
  mode: DaemonMode,
): Promise<number> {
  let drains = mode !== "serve";
  const lock = await takeLock(config.home, log);
  const journal = new Journal(config.home, (error) => {
    log.fatal({ err: error }, "the journal cannot be written: ending; sessions run on for the next daemon");
    process.exit(EXIT.failed);
  });
  const engine = await DockerEngine.open(config, identity.host_id, log);
  const stop = new AbortController();
  const end = Promise.withResolvers<number>();
  const capacity = new CapacityWatch(config, engine, log);
  let order = new CommandOrder<CommandFrame | null>(journal.lastN());
  let gap: NodeJS.Timeout | null = null;

  const link = new Link({
    url: config.url ?? identity.url,
    hostId: identity.host_id,
    version: VERSION,
    boot: randomUUID(),
    log,
    sign: await createSigner(identity),
    describe: (brief) => ({
      last_n: journal.lastN(),
      epoch: journal.epoch(),
      capacity: capacity.current,
      sessions: sessions.inventory(brief),
    }),
    onWelcome: (epoch) => {
      journal.welcomed(epoch);
      order = new CommandOrder(journal.lastN());
      watchGap();
      sessions.onWelcome();
    },
    onFrame: (frame) => onFrame(frame),
    onUnreadableCommand: (n) => onPlaced(n, null),
    onEnd: (reason) => {
      log.error(
        { reason },
        reason === "superseded"
          ? "a newer daemon has this host's id; going"
          : "this host was removed; going (agent-host join makes this machine a new one)",
      );
      end.resolve(EXIT[reason]);
    },
    onCongestion: (congested) => {
      for (const session of sessions.all()) session.pause(congested);
    },
  });
  const acks = new CommandAcks((n) => link.send({ t: "ack", n }));
  const settled = new SettledOutcomes(journal, (text) => link.sendText(text));
  const http = new ControlPlaneHttp(config.url ?? identity.url);
  const files = new FileCalls(http, config.importDirs, log);
  const processes = new ProcessCalls(new Tunnels(config.url ?? identity.url), http, log);
  const plane = new SignedRequests(config.url ?? identity.url, identity);
  const exports = new ArtifactExport(plane, config.home, log);
  const datasetCache = new DatasetCache(config.home, config.datasetCacheBytes);
  const datasetJournal = new DatasetJournal(config.home);
  const datasets = new Datasets({ journal: datasetJournal, cache: datasetCache, http, log });
  const artifacts = new ArtifactIngest({
    plane,
    giveUpMs: config.ingestGiveUpMs,
    log,
    linked: () => link.up,
  });
  const removals = new Removals({ config, engine, journal, log });
  const pool = new Pool({
    config,
    engine,
    journal,
    log,
    room: () => config.maxSessions - sessions.live,
    busy: () => sessions.starting > 0,
  });
  const context: SessionContext = {
    config,
    journal,
    engine,
    link,
    settled,
    windows: new ReportWindows(),
    artifacts,
    datasets,
    pool,
    removals,
    log,
  };
  const sessions = new Sessions(context);
  const calls = new HostCalls({
    session: (id) => sessions.get(id),
    ofSession: {
      ...files.calls,
      ...exports.calls,
      ...datasets.calls,
      ...processes.calls,
      state: (session, params) => session.call("state", params),
    },
    ofHost: volumeCalls(engine.volumes),
    send: (frame) => link.send(frame),
  });

  function onFrame(frame: ServerFrame): void {
    switch (frame.t) {
      case "command":
        onPlaced(frame.n, frame);
        break;
      case "ack":
        sessions.onAck(frame);
        break;
      case "resend":
        sessions.onResend(frame);
        break;
      case "session.ack":
        sessions.onSessionAck(frame);
        break;
      case "call":
        return void calls.onCall(frame);
    }
  }

  function onPlaced(n: number, frame: CommandFrame | null): void {
    const placed = order.place(n, frame);
    if (placed.kind === "seen") acks.add(n);
    else if (placed.kind === "overflow") link.drop("too many commands from the future");
    else if (placed.kind === "ready") {
      for (const { n: next, item } of placed.items) {
        if (item) sessions.accept(next, item.session, item.command);
        else sessions.skip(next);
        acks.add(next);
      }
    }
    watchGap();
  }

  function watchGap(): void {
    if (!order.gap) {
      if (gap) clearTimeout(gap);
      gap = null;
    } else gap ??= setTimeout(() => link.drop("a command is missing"), GAP_MS);
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => end.resolve(EXIT.ok));
  process.on("SIGUSR2", () => {
    drains = true;
    end.resolve(EXIT.ok);
  });

  await datasetCache.clear();
  await exports.clear();
  await engine.start();
  await adoptSessions({ config, journal, engine, sessions, pool, removals, log });
  await capacity.start((now) => link.send({ t: "capacity", capacity: now }));
  engine.followDeaths(
    {
      onDeath: (sandbox) => {
        sessions.onSandboxDeath(sandbox);
        pool.onSandboxDeath(sandbox);
      },
      onResync: () => void sessions.checkAll(),
    },
    stop.signal,
  );
  sweepAgainAndAgain({ config, journal, engine, sessions, pool, removals, log }, stop.signal);
  if (mode === "drain") end.resolve(EXIT.ok);
  else {
    link.start();
    pool.start();
  }
  log.info({ host: identity.host_id, home: config.home, version: VERSION }, "agent-host runs");

  const code = await end.promise;
  pool.stop();
  if (drains) await Promise.all([pool.drain(), ...sessions.all().map((session) => session.drain())]);
  if (drains) {
    await removals.finished();
    await engine.clearAway();
  }
  removals.stop();
  log.info({ code }, drains ? "drained; going" : "going; sessions run on");
  stop.abort();
  capacity.stop();
  link.stop();
  datasetJournal.close();
  journal.close();
  lock.release();
  return code;
}
