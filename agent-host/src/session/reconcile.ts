/**
 * Makes the journal, Docker and the disk agree. At start: sessions of an earlier daemon are adopted. Then again and again:
 * what nobody owns is removed, if it carries this host's label; anything else is not ours to touch.
 *
 * @module
 */
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { boxesFolder, removeBoxFolder } from "../box/box-folders.ts";
import type { Removals } from "../box/removals.ts";
import type { Containers } from "../docker/containers.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { ExecutionRow, Journal } from "../journal/journal.ts";
import type { Pool } from "../pool/pool.ts";
import type { Sessions } from "./sessions.ts";

const SWEEP_MS = 60_000;

export interface ReconcileContext {
  readonly config: Config;
  readonly journal: Journal;
  readonly containers: Containers;
  readonly sessions: Sessions;
  readonly pool: Pool;
  readonly removals: Removals;
  readonly log: Log;
}

export async function adoptSessions({
  journal,
  containers,
  sessions,
  pool,
  removals,
}: ReconcileContext): Promise<void> {
  const found = await containers.list();
  removals.resume(found);
  const executions = Map.groupBy(journal.executions(), (row) => row.session);
  for (const row of journal.sessions()) {
    const own = executions.get(row.id) ?? [];
    executions.delete(row.id);
    const gone = row.state === "failed" || row.state === "died" || row.state === "stopped";
    const session = sessions.restore(row, gone ? [] : own);
    if (gone) settleAll(sessions, own);
    else if (row.state === "stopping") {
      // Its guest is heard once more: artifacts may not be safe yet.
      if (found.some((c) => c.id === row.container && c.running)) await session.adopt(row.container!);
      void session.stop("an earlier stop goes on");
    } else if (row.state === "creating") {
      const leftovers = found.filter((c) => c.box === row.box).map((c) => c.id);
      session.recreate(leftovers);
    } else {
      const container = found.find((c) => c.id === row.container);
      if (container?.running) await session.adopt(container.id);
      else session.died((container && (await containers.deathOf(container.id))) ?? "the container is gone");
    }
  }
  for (const own of executions.values()) settleAll(sessions, own);
  await pool.adopt(found);
}

function settleAll(sessions: Sessions, rows: ExecutionRow[]): void {
  for (const row of rows) sessions.settleWithoutBox(row, "the session has ended", false);
}

export async function sweep(context: ReconcileContext): Promise<void> {
  const { config, containers, sessions, pool, removals, journal, log } = context;
  const owned = (box: string) =>
    pool.owns(box) || removals.owns(box) || sessions.all().some((s) => !s.terminal && s.row.box === box);
  const boxes = new Set<string>();
  for (const container of await containers.list()) {
    if (owned(container.box)) continue;
    boxes.add(container.box);
    // A young one may belong to a daemon whose journal we do not see; it gets time to prove it.
    if (Date.now() - container.createdAt < config.orphanAgeMs) continue;
    log.info({ container: container.id, session: container.session }, "removing an orphan of ours");
    await containers.remove(container.id);
    boxes.delete(container.box);
  }
  const folder = boxesFolder(config.home);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    if (owned(name) || boxes.has(name)) continue;
    log.info({ box: name }, "removing a box that nobody owns");
    await removeBoxFolder(path.join(folder, name));
  }
  await sessions.checkAll();
  journal.prune();
}

export function sweepAgainAndAgain(context: ReconcileContext, signal: AbortSignal): void {
  const run = () =>
    sweep(context).catch((error) => context.log.warn({ err: error }, "sweep failed; trying again later"));
  void run();
  const timer = setInterval(run, SWEEP_MS);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
