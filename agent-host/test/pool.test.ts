import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { newId } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DaemonProcess, SPEC } from "./daemon-process.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

let plane: FakeControlPlane;
let daemon: DaemonProcess;
const LIMITS = { memory_mb: 1024, cpus: 1, pids: 256, tmpfs_mb: 256, timeout_s: 30 };
const CREATE = { type: "session.create" as const, tenant: "t", context: "python" };

beforeAll(async () => {
  plane = await FakeControlPlane.start();
  daemon = await DaemonProcess.start(plane, { SANDBAR_POOL_SIZE: "1", SANDBAR_POOL_MAX: "1" });
});
afterAll(async () => {
  await daemon.cleanUp();
  await plane.close();
});

type Row = Record<string, string | null>;

function journal<T>(look: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path.join(daemon.home, "host", "journal.sqlite"), { timeout: 5000 });
  try {
    return look(db);
  } finally {
    db.close();
  }
}

const poolRows = () => journal((db) => db.prepare("SELECT * FROM pool WHERE warm = 1").all() as Row[]);
const warm = (waitMs = 30_000) => plane.until("a warm box", () => poolRows()[0], waitMs);
const boxOf = (id: string) =>
  journal((db) => db.prepare("SELECT box, container FROM sessions WHERE id = ?").get(id) as Row);

async function ready(id: string): Promise<void> {
  await plane.until("ready", () => plane.sessions.get(id)?.state === "ready", 30_000);
}

describe("a claim and a crash", () => {
  it("between the journal and the box: the box is thrown away, the session gets another, nobody gets it again", async () => {
    const row = await warm();
    await daemon.kill("SIGKILL");
    const id = newId("ses");
    // What the claim's transaction writes; nothing was sent to the box yet.
    journal((db) => {
      db.prepare("DELETE FROM pool WHERE box = ?").run(row.box!);
      db.prepare("INSERT INTO sessions VALUES (?, 't', 'python', ?, ?, ?, ?, 'creating', ?, ?)").run(
        id,
        JSON.stringify({ ...SPEC, limits: LIMITS, env: { MINE: id } }),
        row.box!,
        row.container!,
        row.token!,
        JSON.stringify({ state: "creating" }),
        Date.now(),
      );
    });
    await daemon.spawn();
    await ready(id);
    const { container } = boxOf(id);
    expect(container).not.toBe(row.container);
    expect(await daemon.containers()).not.toContain(row.container);
    const execution = daemon.run(id, "import os; os.environ['MINE']", 20_000, "python");
    expect((await daemon.outcome(execution)).text).toBe(`'${id}'`);
    expect(poolRows().map(({ container }) => container)).not.toContain(container);
    await daemon.stopSession(id);
  });

  it("at any other moment: the session is ready with its own environment in a box of its own", async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 4; round++) {
      await warm();
      const id = newId("ses");
      plane.command(id, { ...CREATE, spec: { ...SPEC, limits: LIMITS, env: { MINE: id } } });
      await sleep(round * 3);
      await daemon.kill("SIGKILL");
      await daemon.spawn();
      await ready(id);
      const execution = daemon.run(
        id,
        "import os; [os.environ['MINE'], os.path.exists('/session/used'), open('/session/used', 'w').close()][:2]",
        20_000,
        "python",
      );
      expect((await daemon.outcome(execution)).text).toBe(`['${id}', False]`);
      const { container } = boxOf(id);
      expect(seen).not.toContain(container);
      seen.add(container!);
      expect(poolRows().map((row) => row.container)).not.toContain(container);
      await daemon.stopSession(id);
    }
  });

  it("while a box is being made: it is adopted when warm, or removed", async () => {
    await warm();
    const id = newId("ses");
    plane.command(id, { ...CREATE, spec: { ...SPEC, limits: LIMITS } });
    await ready(id);
    await plane.until("a refill", () => journal((db) => db.prepare("SELECT 1 FROM pool").get()), 10_000);
    await daemon.kill("SIGKILL");
    await daemon.spawn();
    await daemon.stopSession(id);
    // A box whose guest never dials is given up after the start timeout, and only then replaced.
    await warm(90_000);
    await plane.until("nothing else", async () => {
      const { containers, boxes } = await daemon.leftovers();
      return containers.length === 1 && boxes.length === 1;
    });
    expect(await daemon.containers()).toEqual([poolRows()[0]!.container]);
  }, 150_000);
});
