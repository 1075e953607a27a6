/** @module What can be looked at when Prometheus asks: nothing here costs anything until then. */
import type { StatsFsBase } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { loadavg } from "node:os";
import { VERSION } from "@sandbar/shared";
import { collectDefaultMetrics, Gauge } from "prom-client";
import type { DaemonParts } from "./daemon-parts.ts";
import { journalFile } from "./journal/journal.ts";

type Sample = readonly [labels: Record<string, string>, value: number];

export function registerGauges(parts: DaemonParts): void {
  const { config, identity, engine, figures, sessions, pool, link, metrics, journal, capacity } = parts;
  const { registry } = figures;
  const gauge = (
    name: string,
    help: string,
    labelNames: string[],
    look: () => readonly Sample[] | Promise<readonly Sample[]>,
  ) =>
    new Gauge({
      name: `sandbar_daemon_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset();
        for (const [labels, value] of await look()) this.set(labels, value);
      },
    });
  const one = (name: string, help: string, look: () => number | Promise<number>) =>
    gauge(name, help, [], async () => [[{}, await look()]]);

  const labels = { version: VERSION, engine: engine.name, host: identity.host_id };
  gauge("info", "Which daemon this is", Object.keys(labels), () => [[labels, 1]]);

  one("sessions_max", "Sessions that this host may have at once", () => config.maxSessions);
  gauge("sessions", "Sessions by state", ["state"], () =>
    countBy(
      sessions.all().map(({ row }) => row.state),
      STATES,
    ),
  );
  gauge("executions", "Executions that have not ended, by where they are", ["state"], () => {
    const all = sessions.all().map((session) => session.executions.counts());
    return EXECUTION_STATES.map((state) => [{ state }, all.reduce((sum, counts) => sum + counts[state], 0)]);
  });
  one("sessions_memory_bytes", "Memory of all sessions, at the last look", () => metrics.total("memory"));
  one("sessions_cpu_cores", "Cores that all sessions keep busy, at the last look", () =>
    metrics.total("cpu"),
  );
  one("sessions_processes", "Processes and threads of all sessions, at the last look", () =>
    metrics.total("processes"),
  );
  one("sessions_disk_bytes", "Bytes in storage of sessions that is counted, at the last look", () =>
    metrics.total("disk"),
  );
  one("accepts_sessions", "0 while this host takes no new sessions, such as with a full disk", () =>
    capacity.current.refuses === undefined ? 1 : 0,
  );

  gauge("pool_boxes", "Warm boxes: ready, and how many there should be", ["runtime", "state"], () =>
    pool.shelves().flatMap(({ runtime, ready, wanted }): Sample[] => [
      [{ runtime, state: "ready" }, ready],
      [{ runtime, state: "wanted" }, wanted],
    ]),
  );

  one("link_up", "1 while the control plane hears this daemon", () => (link.up ? 1 : 0));
  one("link_unsent_bytes", "Bytes that wait to be sent", () => link.unsentBytes);
  one("link_epoch", "Of the last welcome", () => journal.epoch() ?? 0);
  one("journal_size_bytes", "The journal on disk", () => sizeOf(journalFile(config.home)));
  one("journal_wal_bytes", "What of it is yet to be moved into place", () =>
    sizeOf(`${journalFile(config.home)}-wal`),
  );

  const disk = (name: string, help: string, look: (home: StatsFsBase<number>) => number) =>
    one(name, help, async () => look(await statfs(config.home)));
  disk("disk_size_bytes", "The disk of this daemon's home", ({ blocks, bsize }) => blocks * bsize);
  disk("disk_available_bytes", "What is left on it", ({ bavail, bsize }) => bavail * bsize);
  one(
    "disk_wanted_bytes",
    "With less than this left no session is made",
    () => config.minFreeDiskMb * 1024 * 1024,
  );
  one("load1", "Processes of this machine that run or want to, over a minute", () => loadavg()[0]!);

  collectDefaultMetrics({ register: registry });
  // Gauges with names of counters, which Prometheus' own check refuses.
  for (const name of ["handles", "requests", "resources"])
    registry.removeSingleMetric(`nodejs_active_${name}_total`);
}

const STATES = ["creating", "ready", "stopping", "stopped", "failed", "died"];
const EXECUTION_STATES = ["waiting", "running", "ingesting", "reporting"] as const;

function countBy(values: readonly string[], all: readonly string[]): Sample[] {
  return all.map((state) => [{ state }, values.filter((value) => value === state).length]);
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}
