/**
 * Makes the journal, the engine and the disk agree. At start: sessions of an earlier daemon are adopted. Then again and again:
 * what nobody owns is removed, if it is this host's; anything else is not ours to touch.
 *
 * @module
 */
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { boxesFolder, removeBoxFolder } from "../box/box-folders.ts";
import type { Engine } from "../engine/engine.ts";
import type { Removals } from "../engine/removals.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { type ExecutionRow, hasEnded, type Journal } from "../journal/journal.ts";
import type { Pool } from "../pool/pool.ts";
import type { LeftFolders } from "./left-folders.ts";
import type { Sessions } from "./sessions.ts";

const SWEEP_MS = 60_000;

export interface Reconciled {
  readonly config: Config;
  readonly journal: Journal;
  readonly engine: Engine;
  readonly sessions: Sessions;
  readonly pool: Pool;
  readonly removals: Removals;
  readonly leftFolders: LeftFolders;
  readonly log: Log;
}

export async function adoptSessions({
  journal,
  engine,
  sessions,
  pool,
  removals,
  leftFolders,
}: Reconciled): Promise<void> {
  // An earlier daemon may have kept no account of folders. What failed may never have had one.
  for (const { id, box, spec, state } of journal.sessions())
    if (spec.storage === "BIND" && state !== "failed") journal.addFolder(id, box);
  await leftFolders.start();
  const found = await engine.list();
  removals.resume(found);
  const executions = Map.groupBy(journal.executions(), (row) => row.session);
  for (const row of journal.sessions()) {
    const own = executions.get(row.id) ?? [];
    executions.delete(row.id);
    const gone = hasEnded(row);
    const session = sessions.restore(row, gone ? [] : own);
    if (gone) settleAll(sessions, own);
    else if (row.state === "stopping") {
      // Its guest is heard once more: artifacts may not be safe yet.
      if (found.some(({ id, running }) => id === row.sandbox && running)) await session.adopt(row.sandbox!);
      void session.stop("an earlier stop goes on");
    } else if (row.state === "creating") {
      const leftovers = found.filter((c) => c.box === row.box).map((c) => c.id);
      session.recreate(leftovers);
    } else {
      const sandbox = found.find(({ id }) => id === row.sandbox);
      if (sandbox?.running) await session.adopt(sandbox.id);
      else session.died((sandbox && (await engine.deathOf(sandbox.id))) ?? "the container is gone");
    }
  }
  for (const own of executions.values()) settleAll(sessions, own);
  await pool.adopt(found);
}

function settleAll(sessions: Sessions, rows: ExecutionRow[]): void {
  for (const row of rows) sessions.settleWithoutBox(row, "the session has ended", false);
}

export async function sweep(parts: Reconciled): Promise<void> {
  const { config, engine, sessions, pool, removals, leftFolders, journal, log } = parts;
  const owned = (box: string) =>
    pool.owns(box) || removals.owns(box) || sessions.all().some((s) => !s.terminal && s.row.box === box);
  const boxes = new Set<string>();
  for (const { id, box, session, createdAt } of await engine.list()) {
    if (owned(box)) continue;
    boxes.add(box);
    // A young one may belong to a daemon whose journal we do not see; it gets time to prove it.
    if (Date.now() - createdAt < config.orphanAgeMs) continue;
    log.info({ sandbox: id, session }, "removing an orphan of ours");
    await engine.remove(id);
    boxes.delete(box);
  }
  const folder = boxesFolder(config.home);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    if (owned(name) || boxes.has(name)) continue;
    log.info({ box: name }, "removing a box that nobody owns");
    await removeBoxFolder(path.join(folder, name));
  }
  await sessions.checkAll();
  await leftFolders.sweep(
    ({ session, box }) => (sessions.get(session)?.terminal ?? true) && !removals.owns(box),
  );
  journal.prune();
}

export function sweepAgainAndAgain(parts: Reconciled, signal: AbortSignal): void {
  const run = () =>
    sweep(parts).catch((error) => parts.log.warn({ err: error }, "sweep failed; trying again later"));
  void run();
  const timer = setInterval(run, SWEEP_MS);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
