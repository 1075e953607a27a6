/**
 * Snapshots of real sessions: what is in them comes back in others, forks go their own ways, little change costs little,
 * and whatever is damaged or killed on the way harms nobody.
 */
import type { RunOnceAnswer, Session, Snapshot } from "@sandbar/shared";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Client } from "../fixtures/client.ts";
import { type Fate, FaultProxy } from "../fixtures/fault-proxy.ts";
import { onD1, r2Keys } from "../fixtures/local-storage.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const proxy = new FaultProxy();
const { stack, client } = useStack({
  agentThrough: proxy,
  agentEnv: { SANDBAR_POOL_SIZE: "1" },
  vars: { HEARTBEAT_MS: "500", BLOB_GRACE_S: "0" },
});

const CHECK = /^\/agent\/snapshots\/check$/;
const CHUNKS = /^\/agent\/snapshots\/chunks$/;
const MANIFEST = /^\/agent\/snapshots\/manifest$/;
const READ = /^\/agent\/snapshots\/read$/;

const made: string[] = [];
beforeEach(() => {
  proxy.fate = () => "pass";
});
afterEach(async () => {
  await Promise.all(made.splice(0).map((id) => client.stop(id)));
});

async function create(spec: Record<string, unknown> = {}): Promise<Session> {
  const session = await client.create(spec);
  made.push(session.id);
  return session;
}

const snapshot = (session: string, request: object = {}) =>
  client.ok<Snapshot>("POST", `/v1/sessions/${session}/snapshots`, request);

async function text(session: string, code: string, more: Record<string, unknown> = {}): Promise<string> {
  const execution = await client.run(session, code, more);
  expect(execution, JSON.stringify(execution.error)).toMatchObject({ status: "ok" });
  return execution.text ?? execution.stdout;
}

/** The first request to the path meets this fate, the others pass. */
function once(path: RegExp, fate: Fate, then: () => void = () => {}): void {
  let met = false;
  proxy.fate = (request) => {
    if (met || !path.test(request.path)) return "pass";
    met = true;
    then();
    return fate;
  };
}

const chunkRows = () => onD1(stack, (db) => db.prepare("SELECT count(*) AS n FROM snapshot_chunks").get()!.n);

const FULL = `
import os, pandas as pd
frame = pd.DataFrame({"n": range(1000), "word": [f"w{i}" for i in range(1000)]})
first = [1, 2, 3]
second = first
counter = 0
def count():
    global counter
    counter += 1
    return counter
count(); count()
numbers = (n for n in range(10))
os.makedirs("/session/deep/er", exist_ok=True)
open("/session/deep/er/file.txt", "w").write("kept")
os.chmod("/session/deep/er/file.txt", 0o640)
os.utime("/session/deep/er/file.txt", (1_600_000_000, 1_600_000_000))
os.symlink("er/file.txt", "/session/deep/inside")
os.symlink("/usr/bin/python3", "/session/deep/outside")
os.chdir("/session/deep")
open("/session/mine.py", "w").write("class Thing:\\n    size = 7\\n")
import sys; sys.path.insert(0, "/session")
import mine
thing = mine.Thing()
`;

describe("a snapshot of a Python session", () => {
  let origin: Session;
  let taken: Snapshot;

  beforeAll(async () => {
    origin = await client.create({ labels: { of: "origin" }, env: { COLOR: "green" } });
    expect(await client.run(origin.id, FULL)).toMatchObject({ status: "ok" });
    await client.run(origin.id, "other = 'context'", { context: "second", language: "python" });
    await client.run(origin.id, 'word=shell; greet() { echo "$word $1"; }', { language: "bash" });
    taken = await snapshot(origin.id, { name: "full" });
  });

  it("forks into sessions that go their own ways, and the first goes its own", async () => {
    const { data } = await client.ok<{ data: Session[] }>("POST", `/v1/sessions/${origin.id}/fork`, {
      count: 2,
      labels: { of: "fork" },
    });
    made.push(...data.map(({ id }) => id));
    expect(new Set([origin.id, ...data.map(({ id }) => id)]).size).toBe(3);
    expect(data.map(({ labels }) => labels)).toEqual([{ of: "fork" }, { of: "fork" }]);
    const all = [origin, ...data];
    const said = await Promise.all(
      all.map(({ id }, i) =>
        text(id, `first.append(${i}); open("mark", "w").write("${i}"); (first, count())`),
      ),
    );
    expect(said).toEqual(["([1, 2, 3, 0], 3)", "([1, 2, 3, 1], 3)", "([1, 2, 3, 2], 3)"]);
    expect(await Promise.all(all.map(({ id }) => text(id, 'open("mark").read()')))).toEqual([
      "'0'",
      "'1'",
      "'2'",
    ]);
    const { data: left } = await client.ok<{ data: Snapshot[] }>(
      "GET",
      `/v1/sessions/${origin.id}/snapshots`,
    );
    expect(left.map(({ id }) => id)).toEqual([taken.id]);
  });

  it("comes back whole in a session elsewhere, when the first is gone", async () => {
    const report = taken.contexts.find(({ name }) => name === "python")!;
    expect(report).toMatchObject({ language: "python", format: "python-cloudpickle/1", lost: 1 });
    expect(report.variables[0]).toMatchObject({
      name: "numbers",
      status: "lost",
      reason: expect.any(String),
    });
    expect(report.variables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["frame", "second", "count"]),
    );
    await client.stop(origin.id);

    const moved = await create({ snapshot: taken.id });
    expect(moved).toMatchObject({ status: "ready", restored: { snapshot: taken.id, at: taken.created_at } });
    expect(moved.restored!.contexts.map(({ name }) => name).sort()).toEqual(["bash", "python", "second"]);
    expect(moved.restored!.contexts.find(({ name }) => name === "python")!.variables[0]).toMatchObject({
      name: "numbers",
      status: "lost",
    });
    expect(moved.labels).toEqual({});
    const look = `
second.append(4)
print(int(frame.n.sum()), first, count(), counter, thing.size, os.environ["COLOR"], os.getcwd(),
 open("inside").read(), os.readlink("outside"), oct(os.stat("er/file.txt").st_mode & 0o777),
 int(os.stat("er/file.txt").st_mtime), sep=", ")`;
    expect(await text(moved.id, look)).toBe(
      "499500, [1, 2, 3, 4], 3, 3, 7, green, /session/deep, kept, /usr/bin/python3, 0o640, 1600000000\n",
    );
    expect(await text(moved.id, "other", { context: "second" })).toBe("'context'");
    expect(await text(moved.id, "greet too", { language: "bash" })).toBe("shell too\n");
    expect((await client.run(moved.id, "numbers")).error).toMatchObject({ name: "NameError" });
  });

  it("downloads as one file, and is freed with all of its bytes", async () => {
    const answer = await fetch(`${client.url}/v1/snapshots/${taken.id}/content`, {
      headers: { authorization: `Bearer ${client.key}` },
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(bytes.length).toBe(Number(answer.headers.get("content-length")));
    const line = JSON.parse(bytes.subarray(0, bytes.indexOf(10)).toString());
    expect(line).toMatchObject({ format: "sandbar-snapshot/1", digest: taken.digest });
    const all = await client.ok<{ data: Snapshot[] }>("GET", "/v1/snapshots");
    for (const { id } of all.data) await client.ok("DELETE", `/v1/snapshots/${id}`);
    expect(chunkRows()).toBe(0);
    expect(r2Keys(stack)).toEqual([]);
  });
});

it("the hundredth snapshot of a session that changes little costs little", async () => {
  const { id } = await create();
  await client.run(
    id,
    `import os; data = os.urandom(12_000_000); open("/session/big.bin", "wb").write(os.urandom(12_000_000)); step = 0`,
  );
  expect((await snapshot(id)).new_bytes).toBeGreaterThan(24_000_000);
  const costs: number[] = [];
  for (let i = 0; i < 4; i++) {
    await client.run(id, `step += 1; open("/session/log.txt", "a").write(f"step {step}\\n")`);
    costs.push((await snapshot(id)).new_bytes);
  }
  // The chunks in which something changed, and a manifest.
  expect(costs[3]).toBeLessThan(6_000_000);
  expect(costs[3]).toBeLessThanOrEqual(costs[1]! * 2);
});

it.each([
  ["node", "let total = 41; const add = (n) => total + n", "add(1)"],
  ["r", "total <- 41; add <- function(n) total + n", "add(1)"],
])("variables of %s come back too", async (runtime, code, look) => {
  const { id } = await create({ runtime });
  expect(await client.run(id, code)).toMatchObject({ status: "ok" });
  const moved = await create({ snapshot: (await snapshot(id)).id });
  expect(await text(moved.id, look)).toContain("42");
});

it("one call after another, with the state in the caller's hands and nothing kept", async () => {
  const rows = chunkRows();
  let snapshot_bytes: string | undefined;
  for (const [code, text] of [
    ["total = 40; open('f', 'w').write('1')", "1"],
    ["total += int(open('f').read()); total", "41"],
    ["total + 1", "42"],
  ]) {
    const answer = await client.ok<RunOnceAnswer>("POST", "/v1/run", { code, snapshot_bytes, keep: "bytes" });
    expect(answer.execution).toMatchObject({ status: "ok", text });
    snapshot_bytes = answer.snapshot_bytes;
  }
  expect(chunkRows()).toBe(rows);
  await eventually("its sessions have ended", 10_000, async () => {
    const { data } = await client.ok<{ data: Session[] }>("GET", "/v1/sessions?status=ready");
    return data.length === 0;
  });
});

describe("what fails on the way", () => {
  async function withNoise(): Promise<Session> {
    const session = await create();
    await client.run(
      session.id,
      `import os; noise = os.urandom(12_000_000); open("/session/f", "wb").write(b"x" * 9)`,
    );
    return session;
  }

  it("a busy context is waited for, or refused", async () => {
    const { id } = await create();
    const { id: running } = await client.start(
      id,
      "import os, time\nwhile not os.path.exists('/session/go'): time.sleep(0.05)\ndone = 1",
      {},
    );
    await eventually(
      "it runs",
      10_000,
      async () => (await client.execution(id, running)).status === "running",
    );
    const refused = await client.problem("POST", `/v1/sessions/${id}/snapshots`, { on_busy: "refuse" });
    expect(refused).toMatchObject({ status: 409, body: { code: "CONTEXT_BUSY", retryable: true } });
    expect((await client.execution(id, running)).status).toBe("running");
  });

  it("a file that could not come back is named, and the next snapshot without it is good", async () => {
    const { id } = await create();
    await text(id, "import os; open('/session/holes', 'w').close(); os.truncate('/session/holes', 1 << 40)");
    const refused = await client.problem("POST", `/v1/sessions/${id}/snapshots`, {});
    const named = { code: "LIMIT_EXCEEDED", detail: expect.stringContaining("holes") };
    expect(refused).toMatchObject({ status: 422, body: named });
    await text(id, "os.remove('/session/holes')");
    expect((await snapshot(id)).files_bytes).toBeGreaterThan(0);
  });

  it("a daemon that is killed while it brings a snapshot leaves the session as it was, and no snapshot", async () => {
    const { id } = await withNoise();
    const before = chunkRows();
    const killed = new Promise<void>((resolve) => {
      const hold = Promise.withResolvers<void>();
      once(
        CHUNKS,
        { hold: hold.promise },
        () =>
          void stack
            .killAgent()
            .then(() => resolve())
            .finally(hold.resolve),
      );
    });
    const asking = client.problem(
      "POST",
      `/v1/sessions/${id}/snapshots`,
      {},
      { "Idempotency-Key": "killed-1" },
    );
    await killed;
    await stack.startAgent();
    expect(await asking).toMatchObject({ status: 503, body: { code: "HOST_UNREACHABLE" } });
    expect(await text(id, "len(noise)")).toBe("12000000");
    const { data } = await client.ok<{ data: Snapshot[] }>("GET", `/v1/sessions/${id}/snapshots`);
    expect(data).toEqual([]);
    // The same request begins again where it was.
    const again = await client.ok<Snapshot>(
      "POST",
      `/v1/sessions/${id}/snapshots`,
      {},
      { "Idempotency-Key": "killed-1" },
    );
    expect(again.size).toBeGreaterThan(12_000_000);
    await client.ok("DELETE", `/v1/snapshots/${again.id}`);
    expect(chunkRows()).toBe(before);
  });

  it.each([
    ["a check that is lost", CHECK, "lose"],
    ["chunks that are cut", CHUNKS, { cutAfter: 1_000_000 }],
    ["a manifest whose answer is lost", MANIFEST, "deafen"],
  ] as const)("%s is sent again", async (_, path, fate) => {
    const { id } = await withNoise();
    once(path, fate);
    expect((await snapshot(id)).size).toBeGreaterThan(12_000_000);
  });

  it("a daemon that is killed while it restores one begins again, and the session is whole", async () => {
    const { id } = await withNoise();
    const taken = await snapshot(id);
    const killed = new Promise<void>((resolve) => {
      let reads = 0;
      const hold = Promise.withResolvers<void>();
      proxy.fate = ({ path }) => {
        if (!READ.test(path) || ++reads !== 3) return "pass";
        void stack
          .killAgent()
          .then(() => resolve())
          .finally(hold.resolve);
        return { hold: hold.promise };
      };
    });
    const asking = create({ snapshot: taken.id });
    await killed;
    proxy.fate = () => "pass";
    await stack.startAgent();
    const moved = await asking;
    expect(moved).toMatchObject({ status: "ready", restored: { snapshot: taken.id } });
    expect(await text(moved.id, `(len(noise), open("/session/f").read())`)).toBe("(12000000, 'xxxxxxxxx')");
  });

  it("a damaged chunk is a clear error and no session, and the next snapshot is good again", async () => {
    const { id } = await withNoise();
    const taken = await snapshot(id);
    damage(client, taken.id);
    const refused = await client.problem("POST", "/v1/sessions", { snapshot: taken.id });
    expect(refused).toMatchObject({ status: 422, body: { code: "SNAPSHOT_DAMAGED", retryable: false } });
    const again = await snapshot(id);
    const moved = await create({ snapshot: again.id });
    expect(await text(moved.id, "len(noise)")).toBe("12000000");
  });

  /** Two chunks of the snapshot, of one size or not, change places in the store. */
  function damage(_client: Client, snapshotId: string): void {
    onD1(stack, (db) => {
      const rows = db
        .prepare(
          `SELECT b.sha256, b.object_key FROM snapshot_chunks AS k
             JOIN blobs AS b ON b.tenant = k.tenant AND b.sha256 = k.sha256
             WHERE k.snapshot_id = ? AND k.size > 300000 LIMIT 2`,
        )
        .all(snapshotId) as { sha256: string; object_key: string }[];
      expect(rows).toHaveLength(2);
      const set = db.prepare("UPDATE blobs SET object_key = ? WHERE sha256 = ?");
      set.run(rows[1]!.object_key, rows[0]!.sha256);
    });
  }
});
