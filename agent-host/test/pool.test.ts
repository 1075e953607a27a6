import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { newId, type SessionSpec } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DaemonProcess, SPEC } from "./daemon-process.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

let plane: FakeControlPlane;
let daemon: DaemonProcess;
let datasets: string;
const LIMITS = { memory_mb: 1024, cpus: 1, pids: 256, tmpfs_mb: 256, timeout_s: 30 };
const CREATE = { type: "session.create" as const, tenant: "t", context: "python" };
const MOUNTED: SessionSpec = { ...SPEC, limits: LIMITS, storage: "BIND", dataset_access: "LOCAL_RO" };
/** The run prints its seed; POOL_SEED repeats it. */
const SEED = Number(process.env.POOL_SEED ?? Math.floor(Math.random() * 2 ** 31));

beforeAll(async () => {
  plane = await FakeControlPlane.start();
  datasets = mkdtempSync(path.join(tmpdir(), "sandbar-datasets-"));
  chmodSync(datasets, 0o755);
  writeFileSync(path.join(datasets, "numbers.csv"), "1,2");
  daemon = await DaemonProcess.start(plane, {
    SANDBAR_POOL_SIZE: "1",
    SANDBAR_POOL_MAX: "1",
    DATASETS_HOST_RO: datasets,
  });
});
afterAll(async () => {
  await daemon.cleanUp();
  await plane.close();
  rmSync(datasets, { recursive: true });
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
const sessionFolder = (id: string) => path.join(daemon.home, "sessions", id);
const filesOf = (box: string) => path.join(daemon.home, "boxes", box, "files");
const mount = (...argv: string[]) => execFileSync("mount", argv);

/** What the claim's transaction writes. */
function writeClaim(row: Row, id: string, spec: SessionSpec): void {
  journal((db) => {
    db.prepare("DELETE FROM pool WHERE box = ?").run(row.box!);
    db.prepare("INSERT INTO sessions VALUES (?, 't', 'python', ?, ?, ?, ?, 'creating', ?, ?)").run(
      id,
      JSON.stringify(spec),
      row.box!,
      row.container!,
      row.token!,
      JSON.stringify({ state: "creating" }),
      Date.now(),
    );
  });
}

/** One container, one folder and one mount, and they are the warm box's. */
async function onlyTheWarmBox(): Promise<void> {
  await plane.until(
    "nothing else",
    async () => {
      const { containers, boxes, mounts } = await daemon.leftovers();
      return containers.length === 1 && boxes.length === 1 && mounts.length === 1;
    },
    10_000,
  );
  expect(await daemon.containers()).toEqual([poolRows()[0]!.container]);
}
const boxOf = (id: string) =>
  journal((db) => db.prepare("SELECT box, container FROM sessions WHERE id = ?").get(id) as Row);

async function ready(id: string): Promise<void> {
  const state = () => plane.sessions.get(id)?.state;
  const settled = () => state() === "ready" || state() === "failed";
  await plane.until("ready", settled, 30_000).catch(() => {});
  if (state() !== "ready")
    throw new Error(`the session is ${JSON.stringify(plane.sessions.get(id))}\n${daemon.logs.slice(-8000)}`);
}

describe("a claim and a crash", () => {
  it("between the journal and the box: the box is thrown away, the session gets another, nobody gets it again", async () => {
    const row = await warm();
    await daemon.kill("SIGKILL");
    const id = newId("ses");
    // Nothing was sent to the box yet.
    writeClaim(row, id, { ...SPEC, limits: LIMITS, env: { MINE: id } });
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

  it("between the mounts and the box: they go, what they showed stays, and the session gets its own", async () => {
    const row = await warm();
    await daemon.kill("SIGKILL");
    const id = newId("ses");
    writeClaim(row, id, MOUNTED);
    mkdirSync(sessionFolder(id), { recursive: true });
    execFileSync("chown", ["65532:65532", sessionFolder(id)]);
    writeFileSync(path.join(sessionFolder(id), "precious"), "mine");
    for (const [source, place] of [
      [sessionFolder(id), "session"],
      [datasets, "data"],
    ] as const) {
      mount("--rbind", "--make-rprivate", source, path.join(filesOf(row.box!), `${place}-staging`));
      mount("--rbind", path.join(filesOf(row.box!), `${place}-staging`), path.join(filesOf(row.box!), place));
    }
    await daemon.spawn();
    await ready(id);
    expect(boxOf(id).container).not.toBe(row.container);
    const execution = daemon.run(
      id,
      "[open('precious').read(), open('/data/numbers.csv').read()]",
      20_000,
      "python",
    );
    expect((await daemon.outcome(execution)).text).toBe("['mine', '1,2']");
    await daemon.stopSession(id);
    await warm();
    await onlyTheWarmBox();
    expect(readFileSync(path.join(sessionFolder(id), "precious"), "utf8")).toBe("mine");
    expect(readdirSync(datasets)).toEqual(["numbers.csv"]);
  });

  it("in the first look at whether the host can mount: the next one clears it away", async () => {
    await warm();
    await daemon.kill("SIGKILL");
    const files = filesOf("probe");
    mkdirSync(path.join(files), { recursive: true });
    mount("-t", "tmpfs", "sandbar", files);
    mkdirSync(path.join(files, "data"));
    mount("--bind", datasets, path.join(files, "data"));
    await daemon.spawn();
    await warm();
    await onlyTheWarmBox();
    expect(readdirSync(datasets)).toEqual(["numbers.csv"]);
  });

  it("at any other moment: the session is ready with its own environment in a box of its own", async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 8; round++) {
      await warm();
      const id = newId("ses");
      const spec = round % 2 ? MOUNTED : { ...SPEC, limits: LIMITS };
      plane.command(id, { ...CREATE, spec: { ...spec, env: { MINE: id } } });
      await sleep(round * 4);
      await daemon.kill("SIGKILL");
      await daemon.spawn();
      await ready(id);
      const execution = daemon.run(
        id,
        "import os; [os.environ['MINE'], os.path.exists('used'), os.path.exists('/data/numbers.csv'), open('/session/used', 'w').close()][:3]",
        20_000,
        "python",
      );
      const local = round % 2 ? "True" : "False";
      expect((await daemon.outcome(execution)).text).toBe(`['${id}', False, ${local}]`);
      const { container } = boxOf(id);
      expect(seen).not.toContain(container);
      seen.add(container!);
      expect(poolRows().map((row) => row.container)).not.toContain(container);
      await daemon.stopSession(id);
      if (round % 2) expect(readdirSync(sessionFolder(id))).toContain("used");
    }
    await warm();
    await onlyTheWarmBox();
    expect(readdirSync(datasets)).toEqual(["numbers.csv"]);
  }, 180_000);

  it(`while a box is being made: it is adopted or removed at once (seed ${SEED})`, async () => {
    let state = SEED;
    const random = (below: number) => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return state % below;
    };
    for (let round = 0; round < 6; round++) {
      const { container } = await warm();
      execFileSync("docker", ["kill", container!]);
      await plane.until(
        "a refill",
        () => journal((db) => db.prepare("SELECT 1 FROM pool WHERE warm = 0").get()),
        30_000,
      );
      await sleep(random(900));
      await daemon.kill("SIGKILL");
      await daemon.spawn();
      // Long before the start timeout, after which a box is given up whose guest never dials.
      await warm(15_000);
      await onlyTheWarmBox();
    }
  }, 180_000);
});

describe("a daemon that may not mount", () => {
  it("says so once, and makes from nothing what would need it", async () => {
    const other = await FakeControlPlane.start();
    const bounded = await DaemonProcess.start(
      other,
      { SANDBAR_POOL_SIZE: "1", SANDBAR_POOL_MAX: "1", DATASETS_HOST_RO: datasets },
      ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"],
    );
    try {
      const id = await bounded.createSession(MOUNTED);
      const execution = bounded.run(id, "open('kept', 'w').close(); open('/data/numbers.csv').read()");
      expect((await bounded.outcome(execution)).text).toBe("'1,2'");
      expect(readdirSync(path.join(bounded.home, "sessions", id))).toContain("kept");
      expect(bounded.logs.match(/cannot mount into running boxes/g)).toHaveLength(1);
      await bounded.stopSession(id);
      expect((await bounded.leftovers()).mounts).toEqual([]);
    } finally {
      await bounded.cleanUp();
      await other.close();
    }
  });
});
