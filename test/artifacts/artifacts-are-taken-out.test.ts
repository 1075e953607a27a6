/** @module Files in /session/artifacts become artifacts: any name, any number, whole or next time. */
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Execution, ExportResult } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bytesOf, expectTrue, listed, remaining } from "../fixtures/artifacts.ts";
import { onD1 } from "../fixtures/local-storage.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const { stack, client } = useStack({ vars: { MAX_BODY_BYTES: "50000000" } });

const A = "/session/artifacts";
const names = (execution: Execution) => execution.artifacts.map(({ name }) => name).sort();
const skipped = (execution: Execution) =>
  Object.fromEntries(execution.artifacts_skipped.map(({ name, reason }) => [name, reason]));

describe.each(["TMPFS", "BIND"])("in %s storage", (storage) => {
  let session: string;
  beforeAll(async () => {
    session = (await client.create({ storage })).id;
  });
  afterAll(() => client.stop(session));

  it("one file is stored, described, linked and removed from the session", async () => {
    const execution = await client.run(session, `open("${A}/report.csv", "w").write("a,b\\n1,2\\n")`);
    expect(execution.status).toBe("ok");
    expect(execution.artifacts_skipped).toEqual([]);
    expect(execution.artifacts).toHaveLength(1);
    const [artifact] = execution.artifacts;
    expect(artifact).toMatchObject({
      session_id: session,
      execution_id: execution.id,
      name: "report.csv",
      size: 8,
      mime: "text/csv",
      sha256: sha256("a,b\n1,2\n"),
    });
    expect((await bytesOf(artifact!)).toString()).toBe("a,b\n1,2\n");
    expect(await remaining(client, session)).toEqual([]);
    expect((await client.execution(session, execution.id)).artifacts[0]!.id).toBe(artifact!.id);
  });

  it("each name of one file is an artifact of its own, once", async () => {
    const linked = await client.run(
      session,
      `import os
open("${A}/first", "wb").write(bytes(5_000_000)); open("${A}/small", "w").write("s")
for name in ["second", "third"]: os.link("${A}/first", f"${A}/{name}")
os.link("${A}/small", "${A}/tiny")`,
    );
    expect(linked.artifacts_skipped).toEqual([]);
    expect(names(linked)).toEqual(["first", "second", "small", "third", "tiny"]);
    expect(names(await client.run(session, "1"))).toEqual([]);
    expect(await remaining(client, session)).toEqual([]);
  });

  it("is found whatever the folder was before: long empty, just emptied, replaced by another", async () => {
    const names = async (code: string) => (await client.run(session, code)).artifacts.map(({ name }) => name);
    const write = (name: string) => `open("${A}/${name}", "w").write("${name}")`;
    // Two ends of a cell with the folder long empty: the second need not look inside.
    await client.run(session, "import time; time.sleep(1.2)");
    expect(await names("1")).toEqual([]);
    expect(await names(write("after a while"))).toEqual(["after a while"]);
    for (const name of ["at once", "and again"]) expect(await names(write(name))).toEqual([name]);
    expect(
      await names(`import os; os.rename("${A}", "/session/old"); os.mkdir("${A}"); ${write("new")}`),
    ).toEqual(["new"]);
    expect(await names(`os.mkdir("${A}/folder"); time.sleep(1.2)`)).toEqual([]);
    expect(await names("1")).toEqual([]);
    expect(await names(write("folder/inside"))).toEqual(["folder/inside"]);
    await client.run(session, `os.rmdir("${A}/folder"); os.rmdir("/session/old")`);
  });

  it("names are kept as they are, in folders, and bytes that are no UTF-8 do not collide", async () => {
    const odd = [
      "with space.txt",
      "new\nline.txt",
      "quo\"te'.txt",
      "\u202ertl\u200f.txt",
      `${"a".repeat(251)}.bin`,
      "one/same.txt",
      "two/same.txt",
      "deep/er/and/deeper.txt",
      "-rf",
      "ünï.txt",
      "~",
      ".hidden",
    ];
    const execution = await client.run(
      session,
      `import os, json
for name in json.loads(${JSON.stringify(JSON.stringify(odd))}):
    path = "${A}/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(name)
for raw in (b"bad\\xff.txt", b"bad\\xfe.txt"):
    open(b"${A}/" + raw, "wb").write(raw)`,
    );
    expect(execution.artifacts_skipped).toEqual([]);
    expect(names(execution).filter((name) => !name.startsWith("bad"))).toEqual(odd.toSorted());
    const bad = names(execution).filter((name) => name.startsWith("bad"));
    expect(bad).toHaveLength(2);
    expect(new Set(bad).size).toBe(2);
    for (const artifact of execution.artifacts)
      if (!artifact.name.startsWith("bad")) expect((await bytesOf(artifact)).toString()).toBe(artifact.name);
    expect(await remaining(client, session)).toEqual([]);
    const left = await client.run(session, `import os; print(os.listdir("${A}"))`);
    expect(left.stdout).toBe("[]\n");
  });

  it("links, pipes and sockets are skipped with a reason, once", async () => {
    const execution = await client.run(
      session,
      `import os, socket
os.symlink("/etc/passwd", "${A}/passwd")
os.symlink("/var/lib/docker", "${A}/host")
os.symlink("..", "${A}/up")
os.mkfifo("${A}/pipe")
s = socket.socket(socket.AF_UNIX); s.bind("${A}/sock")
open("${A}/good", "w").write("good")`,
    );
    expect(names(execution)).toEqual(["good"]);
    expect(skipped(execution)).toEqual({
      passwd: "a symbolic link",
      host: "a symbolic link",
      up: "a symbolic link",
      pipe: "a named pipe",
      sock: "a socket",
    });
    const next = await client.run(session, "1");
    expect(next.artifacts_skipped).toEqual([]);
    await client.run(session, `import shutil; shutil.rmtree("${A}"); os.mkdir("${A}")`);
  });

  it("a folder that cannot be read is named with the reason, once, and taken when it can", async () => {
    const shut = await client.run(
      session,
      `import os
for name, mode in (("none", 0), ("names", 0o400), ("way", 0o100)):
    os.mkdir(f"${A}/{name}"); open(f"${A}/{name}/in", "w").write(name); os.chmod(f"${A}/{name}", mode)
open("${A}/good", "w").write("good")`,
    );
    expect(names(shut)).toEqual(["good"]);
    const reason = "a folder that cannot be read";
    expect(skipped(shut)).toEqual({ none: reason, names: reason, way: reason });
    expect((await client.run(session, "1")).artifacts_skipped).toEqual([]);
    const opened = await client.run(
      session,
      `for name in ("none", "names", "way"): os.chmod(f"${A}/{name}", 0o700)`,
    );
    expect(names(opened)).toEqual(["names/in", "none/in", "way/in"]);
    expect(await remaining(client, session)).toEqual([]);
  });

  const NEW = "a new folder is there now";
  it.each([
    [
      "a link, which leads nowhere",
      `os.symlink("/etc", "${A}")`,
      `a symbolic link stood there and was removed; ${NEW}`,
    ],
    ["a file", `open("${A}", "w").write("mine")`, `a file stood there, now /session/artifacts.1; ${NEW}`],
    ["a pipe", `os.mkfifo("${A}")`, `a fifo stood there, now /session/artifacts.1; ${NEW}`],
    ["nothing", "pass", `it was removed; ${NEW}`],
  ])("%s in place of the folder is told, and the folder made anew", async (_, replace, reason) => {
    const code = `import os, shutil; shutil.rmtree("${A}"); ${replace}`;
    const execution = await client.run(session, code);
    expect(execution).toMatchObject({
      status: "ok",
      artifacts: [],
      artifacts_skipped: [{ name: A, reason }],
    });
    const next = await client.run(session, `open("${A}/next", "w").write("next")`);
    expect(next).toMatchObject({ artifacts: [{ name: "next" }], artifacts_skipped: [] });
    const kept = await client.run(
      session,
      `import stat
if os.path.lexists("/session/artifacts.1"):
    if stat.S_ISREG(os.stat("/session/artifacts.1").st_mode): print(open("/session/artifacts.1").read())
    os.unlink("/session/artifacts.1")`,
    );
    expect(kept.stdout).toBe(replace.includes("mine") ? "mine\n" : "");
  });

  it("a folder that was shut is opened, and what it has is taken", async () => {
    for (const mode of [0o000, 0o500, 0o300]) {
      const name = mode.toString(8);
      const shut = `open("${A}/${name}", "w").write("x"); os.chmod("${A}", ${mode})`;
      expect(await client.run(session, shut)).toMatchObject({
        artifacts: [{ name }],
        artifacts_skipped: [{ name: A, reason: "its mode shut us out and was changed" }],
      });
    }
    // Also when nothing else has changed since the last look.
    await client.run(session, "import time; time.sleep(1.2)");
    await client.run(session, "1");
    expect((await client.run(session, `os.chmod("${A}", 0)`)).artifacts_skipped).toHaveLength(1);
    expect(await client.run(session, "1")).toMatchObject({ artifacts: [], artifacts_skipped: [] });
    expect(await remaining(client, session)).toEqual([]);
  });

  it("a file that is still being written is taken next time, whole", async () => {
    const first = await client.run(session, `f = open("${A}/growing.txt", "w"); f.write("half"); f.flush()`);
    expect(first.artifacts).toEqual([]);
    expect(skipped(first)).toEqual({ "growing.txt": "still being written" });
    const second = await client.run(session, `f.write(" and half"); f.close()`);
    expect(names(second)).toEqual(["growing.txt"]);
    expect((await bytesOf(second.artifacts[0]!)).toString()).toBe("half and half");
  });

  it("a cell that fails, or whose kernel dies, still leaves its artifacts", async () => {
    const failed = await client.run(session, `open("${A}/before", "w").write("1"); 1/0`);
    expect(failed.status).toBe("error");
    expect(names(failed)).toEqual(["before"]);
    const died = await client.run(session, `open("${A}/last", "w").write("2"); import os; os._exit(3)`);
    expect(died.status).toBe("died");
    expect(names(died)).toEqual(["last"]);
  });

  it("what is left when the session is stopped is taken first", async () => {
    const other = (await client.create({ storage })).id;
    await client.run(other, `f = open("${A}/open.log", "w"); f.write("never closed"); f.flush()`);
    await client.stop(other);
    const all = await listed(client, other);
    expect(all.map(({ name, execution_id }) => [name, execution_id])).toEqual([["open.log", null]]);
    expect((await bytesOf(all[0]!)).toString()).toBe("never closed");
  });

  it("every artifact that is listed re-hashes to its id", async () => {
    await expectTrue(await listed(client, session));
  });
});

it("a thousand files of one cell are a thousand artifacts", async () => {
  const session = (await client.create()).id;
  const execution = await client.run(
    session,
    `import os
for i in range(1000):
    os.makedirs(f"${A}/{i % 10}", exist_ok=True)
    open(f"${A}/{i % 10}/{i}.txt", "w").write(f"file {i}")`,
  );
  expect(execution.artifacts).toHaveLength(1000);
  expect(execution.artifacts_skipped).toEqual([]);
  const all = await listed(client, session);
  expect(all).toHaveLength(1000);
  for (const artifact of all.slice(0, 50))
    expect(sha256(await bytesOf(artifact))).toBe(sha256(`file ${artifact.name.slice(2, -4)}`));
  expect(await remaining(client, session)).toEqual([]);
  await client.stop(session);
});

it("files of every size are stored as they are, whichever way they go", async () => {
  const session = (await client.create()).id;
  // Around the sizes at which bundles end, and at which the local store takes a value whole.
  const sizes = [0, 1, 2 ** 21 - 1, 2 ** 21, 2 ** 21 + 1, 2 ** 22 - 300, 2 ** 22, 2 ** 22 + 1, 2 ** 23 + 1];
  const { artifacts } = await client.run(
    session,
    `import os\nfor n in ${JSON.stringify(sizes)}: open(f"${A}/{n}", "wb").write(os.urandom(n))`,
  );
  expect(artifacts.map(({ size }) => size).sort((a, b) => a - b)).toEqual(sizes);
  await expectTrue(artifacts);
  await client.stop(session);
});

it("what is exported again after it has expired is a new artifact, also before the old one is swept", async () => {
  const session = (await client.create()).id;
  await client.run(session, `open("/session/kept.txt", "w").write("kept")`);
  const exported = async () => {
    const files = [{ source: "kept.txt" }];
    const answer = await client.ok<{ data: ExportResult[] }>("POST", `/v1/sessions/${session}/export`, {
      files,
    });
    return answer.data[0]!.artifact!;
  };
  const first = await exported();
  expect((await exported()).id).toBe(first.id);
  onD1(stack, (db) =>
    db.exec(`UPDATE artifacts SET expires_at = '2020-01-01T00:00:00.000Z' WHERE id = '${first.id}'`),
  );
  const second = await exported();
  expect(Date.parse(second.expires_at!)).toBeGreaterThan(Date.now());
  expect((await listed(client, session)).map(({ id }) => id)).toEqual([second.id]);
  await expectTrue([second]);
  expect((await exported()).id).toBe(second.id);
  const counted = `SELECT count FROM storage_totals WHERE scope = 's/${session}'`;
  expect(onD1(stack, (db) => db.prepare(counted).get())).toEqual({ count: 1 });
  await client.stop(session);
});

it("artifacts do not wait for downloads that stand still", async () => {
  const session = (await client.create({ limits: { tmpfs_mb: 300 } })).id;
  await client.run(session, `open("/session/large", "wb").truncate(100 << 20)`);
  const url = `${stack.url}/v1/sessions/${session}/files?path=large`;
  let begun = 0;
  // As many as a session may have; the guest begins with eight.
  const downloads = Array.from({ length: 32 }, () =>
    http.get(url, { agent: false, headers: { authorization: `Bearer ${stack.key}` } }, (answer) => {
      answer.pause().on("error", () => {});
      begun++;
    }),
  );
  for (const download of downloads) download.on("error", () => {});
  await eventually("eight have begun", 10_000, () => begun >= 8);
  await sleep(500);
  const write = `import os\nfor n in 5, 5 << 20: open(f"${A}/{n}", "wb").write(os.urandom(n))`;
  const { artifacts, artifacts_skipped } = await client.run(session, write);
  expect([artifacts.length, artifacts_skipped]).toEqual([2, []]);
  await client.run(session, `f = open("${A}/last", "w"); f.write("last"); f.flush()`);
  await client.stop(session);
  for (const download of downloads) download.destroy();
  expect((await listed(client, session)).map(({ name }) => name).sort()).toEqual(["5", "5242880", "last"]);
});

it("large files go out in constant memory, in parts when a request would be too large", async () => {
  const session = (await client.create({ storage: "BIND" })).id;
  const execution = await client.run(
    session,
    `import os, hashlib
h = hashlib.sha256()
with open("${A}/large.bin", "wb") as f:
    for _ in range(150):
        b = os.urandom(1 << 20); h.update(b); f.write(b)
print(h.hexdigest())`,
    { timeout_s: 60 },
  );
  expect(execution.artifacts_skipped).toEqual([]);
  expect(execution.artifacts[0]).toMatchObject({ size: 150 << 20, sha256: execution.stdout.trim() });
  await expectTrue(execution.artifacts);
  await client.stop(session);
});

it("a file that changes while it is exported is refused with that reason, and exported when it rests", async () => {
  const { id } = await client.create();
  const writing = `import os, time
open("/session/live", "wb").write(bytes(20_000_000))
f = open("/session/live", "r+b")
while not os.path.exists("/session/enough"): f.seek(0); f.write(os.urandom(8)); f.flush(); time.sleep(0.0005)`;
  const { id: execution } = await client.start(id, writing);
  const asked = { files: [{ source: "live" }] };
  const run = () =>
    client.ok<{ data: { ok: boolean; error?: { code: string; detail: string } }[] }>(
      "POST",
      `/v1/sessions/${id}/export`,
      asked,
    );
  await eventually("the file is being written", 10_000, async () => {
    const { status, body } = await client.call<{ size: number }>(
      "GET",
      `/v1/sessions/${id}/files/stat?path=live`,
    );
    return status === 200 && body.size === 20_000_000;
  });
  expect((await run()).data[0]).toMatchObject({
    ok: false,
    error: { code: "TRANSFER_FAILED", detail: expect.stringContaining("changed") },
  });
  await client.ok("POST", `/v1/sessions/${id}/files/mkdir`, { path: "enough" });
  await eventually("the writer has ended", 10_000, async () => {
    return (await client.execution(id, execution)).status === "ok";
  });
  expect((await run()).data[0]).toMatchObject({ ok: true });
  await client.stop(id);
});

it("events name each artifact with a link before they finish", async () => {
  const session = (await client.create()).id;
  const events = [];
  for await (const event of client.events(`/v1/sessions/${session}/executions`, {
    method: "POST",
    body: { code: `open("${A}/x.txt", "w").write("x")` },
  }))
    events.push(event);
  expect(events.map(({ event }) => event).slice(-2)).toEqual(["artifact", "finished"]);
  const artifact = events.at(-2)!.data;
  expect((await bytesOf(artifact)).toString()).toBe("x");
  expect(events.at(-1)!.data.artifacts[0].url).toBe(artifact.url);
  await client.stop(session);
});
