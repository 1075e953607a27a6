/** @module The parts of the daemon, each made with what it needs of the others. */
import { randomUUID } from "node:crypto";
import { SandbarError, SpanExporter, VERSION } from "@sandbar/shared";
import { ArtifactExport } from "./artifacts/artifact-export.ts";
import { ArtifactIngest } from "./artifacts/artifact-ingest.ts";
import type { BindFolders } from "./box/bind-folders.ts";
import { ControlPlaneHttp } from "./control-plane/control-plane-http.ts";
import { Intake } from "./control-plane/intake.ts";
import { Link, type LinkOptions } from "./control-plane/link.ts";
import { SignedRequests } from "./control-plane/signed-requests.ts";
import { DatasetCache } from "./datasets/dataset-cache.ts";
import { DatasetJournal } from "./datasets/dataset-journal.ts";
import { Datasets } from "./datasets/datasets.ts";
import { Reachable } from "./egress/reachable.ts";
import { resolver } from "./egress/resolve.ts";
import { CapacityWatch } from "./engine/capacity.ts";
import type { Engine } from "./engine/engine.ts";
import { Removals } from "./engine/removals.ts";
import { volumeCalls } from "./engine/volume-calls.ts";
import { ReportWindows } from "./execution/report-window.ts";
import { SettledOutcomes } from "./execution/settled-outcomes.ts";
import { FileCalls } from "./files/file-calls.ts";
import { Tunnels } from "./guest/tunnels.ts";
import type { Config } from "./host/config.ts";
import { Figures } from "./host/figures.ts";
import { createSigner, type Identity } from "./host/identity.ts";
import type { Log } from "./host/log.ts";
import { Journal } from "./journal/journal.ts";
import { hostLoadCalls } from "./metrics/host-load.ts";
import { Metrics } from "./metrics/metrics.ts";
import { Pool } from "./pool/pool.ts";
import { ProcessCalls } from "./processes/process-calls.ts";
import { HostCalls } from "./session/host-calls.ts";
import { LeftFolders } from "./session/left-folders.ts";
import { Sessions } from "./session/sessions.ts";
import { SnapshotCalls } from "./snapshots/snapshot-calls.ts";
import { SnapshotRestore } from "./snapshots/snapshot-restore.ts";

export interface DaemonOptions {
  readonly config: Config;
  readonly identity: Identity;
  readonly engine: Engine;
  readonly bindFolders: BindFolders;
  readonly log: Log;
  /** What cannot be written down cannot be promised; nothing may go on after this. */
  onJournalBroken(error: Error): void;
  onEnd: LinkOptions["onEnd"];
}

export type DaemonParts = Awaited<ReturnType<typeof makeParts>>;

/** Nothing happens yet. */
export async function makeParts(options: DaemonOptions) {
  const { config, identity, engine, bindFolders, log, onJournalBroken, onEnd } = options;
  const url = config.url ?? identity.url;
  const figures = new Figures();
  const spans = config.traces && spanExporter(config.traces, identity, log);
  const journal = new Journal(config.home, onJournalBroken, (ms) => figures.journalWrote(ms));
  const capacity: CapacityWatch = new CapacityWatch(config, engine, () => trimCaches(), log);
  const link: Link = new Link({
    url,
    hostId: identity.host_id,
    version: VERSION,
    boot: randomUUID(),
    log,
    figures,
    sign: await createSigner(identity),
    describe: (brief) => ({
      last_n: journal.lastN(),
      epoch: journal.epoch(),
      capacity: capacity.current,
      sessions: sessions.inventory(brief),
    }),
    onWelcome: (epoch) => {
      journal.welcomed(epoch);
      intake.onWelcome();
      sessions.onWelcome();
    },
    onFrame: (frame) => intake.onFrame(frame),
    onUnreadableCommand: (n) => intake.onUnreadableCommand(n),
    onEnd,
    onCongestion: (congested) => {
      for (const session of sessions.all()) session.pause(congested);
    },
  });

  const http = new ControlPlaneHttp(url);
  const plane = new SignedRequests(url, identity);
  const files = new FileCalls(http, config.importDirs, log);
  const processes = new ProcessCalls(new Tunnels(url), http, log);
  const exports = new ArtifactExport(plane, config.home, log);
  const linked = () => link.up;
  const artifacts = new ArtifactIngest({ plane, giveUpMs: config.ingestGiveUpMs, log, linked });
  const datasetCache = new DatasetCache(config.home, config.datasetCacheBytes);
  const datasetJournal = new DatasetJournal(config.home);
  const datasets = new Datasets({ journal: datasetJournal, cache: datasetCache, http, log });

  const removals = new Removals({ config, engine, journal, log });
  const leftFolders = new LeftFolders({ config, journal, folders: bindFolders, log });
  const trimCaches = async () => {
    await Promise.all([datasetCache.trim(0), engine.trimCaches()]).catch((error) =>
      log.warn({ err: error }, "the caches could not be trimmed"),
    );
  };
  const pool = new Pool({
    config,
    engine,
    journal,
    log,
    figures,
    room: () => config.maxSessions - sessions.live,
    busy: () => sessions.starting > 0,
  });
  const sessions = new Sessions({
    config,
    journal,
    engine,
    link,
    settled: new SettledOutcomes(journal, (text) => link.sendText(text)),
    windows: new ReportWindows(),
    artifacts,
    datasets,
    snapshots: new SnapshotRestore(plane, linked),
    pool,
    removals,
    leftFolders,
    plane,
    watchers: { figures, spans },
    network: { resolve: resolver(config.egress.dns), reachable: new Reachable(config.egress.allow) },
    log,
  });

  const metrics = new Metrics(() => sessions.running(), log);

  const calls = new HostCalls({
    session: (id) => sessions.get(id)?.access,
    ofSession: {
      ...files.calls,
      ...exports.calls,
      ...datasets.calls,
      ...processes.calls,
      ...new SnapshotCalls({ plane, linked, log }).calls,
      state: (session, params) => session.call("state", params),
      metrics: (session) => metrics.samples(session),
      network: async ({ network }) => {
        if (!network) throw new SandbarError("HOST_ERROR", "the session has no rules");
        return network.state;
      },
      "network.hold": async ({ network }, { until, reason }) => {
        network?.hold(until, reason);
        return {};
      },
      complete: (session, params) => session.call("complete", params),
    },
    ofHost: {
      ...volumeCalls(engine.volumes),
      ...leftFolders.calls,
      ...metrics.calls,
      ...hostLoadCalls(config.home, () => pool.shelves()),
    },
    send: (frame) => link.send(frame),
    log,
  });
  const intake: Intake = new Intake(link, {
    lastN: () => journal.lastN(),
    accept: (n, session, command) => sessions.accept(n, session, command),
    skip: (n) => sessions.skip(n),
    onAck: (frame) => sessions.onAck(frame),
    onResend: (frame) => sessions.onResend(frame),
    onSessionAck: (frame) => sessions.onSessionAck(frame),
    onCall: (frame) => void calls.onCall(frame),
  });

  return {
    config,
    identity,
    figures,
    spans,
    engine,
    journal,
    log,
    link,
    capacity,
    sessions,
    pool,
    removals,
    leftFolders,
    metrics,
    exports,
    datasetCache,
    datasetJournal,
  };
}

const SPANS_AFTER_MS = 1000;

function spanExporter(
  { endpoint, headers }: NonNullable<Config["traces"]>,
  { host_id }: Identity,
  log: Log,
): SpanExporter {
  return new SpanExporter({
    endpoint,
    headers,
    resource: { "service.name": "sandbar-agent-host", "service.version": VERSION, "host.id": host_id },
    soon: (flush) => void setTimeout(flush, SPANS_AFTER_MS),
    onError: (error, lost) => log.warn({ err: error, lost }, "spans are lost"),
  });
}
