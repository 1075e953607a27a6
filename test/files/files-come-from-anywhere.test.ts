import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImportResult } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileClient } from "../fixtures/files.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { end, eventually, REPO, removeHost } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("files come from anywhere that the caller may read, and from nowhere else", () => {
  let session: string;
  let files: FileClient;
  let allowed: string;
  let outside: string;

  beforeAll(async () => {
    allowed = mkdtempSync(join(tmpdir(), "sandbar-allowed-"));
    outside = mkdtempSync(join(tmpdir(), "sandbar-outside-"));
    writeFileSync(join(outside, "secret"), "secret");
    writeFileSync(join(allowed, "data.csv"), "a,b\n1,2\n");
    writeFileSync(join(allowed, "empty"), "");
    mkdirSync(join(allowed, "sub dir"));
    writeFileSync(join(allowed, "sub dir/more"), "more");
    symlinkSync(join(outside, "secret"), join(allowed, "link"));
    symlinkSync(outside, join(allowed, "folder-link"));
    symlinkSync(join(allowed, "sub dir"), join(allowed, "inner-link"));
    execFileSync("mkfifo", [join(allowed, "fifo")]);
  });
  afterAll(async () => {
    for (const folder of [allowed, outside]) rmSync(folder, { recursive: true });
  });
  const { stack, client } = useStack(() => ({ agentEnv: { SANDBAR_IMPORT_DIRS: `/nowhere:${allowed}` } }));
  beforeAll(async () => {
    session = (await client.create()).id;
    files = new FileClient(client, session);
  });

  const bring = async (into: string, list: unknown[], who = client) =>
    (await who.ok<{ data: ImportResult[] }>("POST", `/v1/sessions/${into}/import`, { files: list })).data;
  const content = async (path: string) => (await files.get(path)).bytes.toString();

  it("takes text and base64, one result for each in order, whatever happens to the others", async () => {
    const results = await bring(session, [
      { destination: "in/text", content: "grüße" },
      { destination: "/etc/no", content: "x" },
      { destination: "in/bytes", content: "AAH/", encoding: "base64" },
      { destination: "in/bad", content: "***", encoding: "base64" },
      { destination: "in/empty", content: "" },
      { destination: "in/nul\0", content: "x" },
    ]);
    expect(results.map(({ destination, ok, size, error }) => [destination, ok, size, error?.code])).toEqual([
      ["in/text", true, 7, undefined],
      ["/etc/no", false, undefined, "PATH_NOT_PERMITTED"],
      ["in/bytes", true, 3, undefined],
      ["in/bad", false, undefined, "VALIDATION_FAILED"],
      ["in/empty", true, 0, undefined],
      ["in/nul\0", false, undefined, "PATH_INVALID"],
    ]);
    expect(results[0]!.sha256).toBe(sha256("grüße"));
    expect(await content("in/text")).toBe("grüße");
    expect((await files.get("in/bytes")).bytes).toEqual(Buffer.from([0, 1, 255]));
  });

  it("says what a file needs that comes from nowhere, or from two places", async () => {
    for (const wrong of [{}, { session_id: session }, { content: "x", artifact_id: "art_1" }]) {
      const files = [{ destination: "in/x", ...wrong }];
      const { status, body } = await client.problem("POST", `/v1/sessions/${session}/import`, { files });
      expect([status, body.code]).toEqual([400, "VALIDATION_FAILED"]);
      expect(body.detail).toMatch(/files\.0.*content.*session_id and path.*artifact_id.*source/);
    }
  });

  it("refuses text that could not be written as it is", async () => {
    const [result] = await bring(session, [{ destination: "in/half", content: "half a pair: \ud83d" }]);
    expect(result).toMatchObject({ ok: false, error: { code: "VALIDATION_FAILED" } });
    expect((await files.get("in/half")).status).toBe(404);
  });

  it("copies files and folders between sessions of any runtime", async () => {
    const { id: node } = await client.create({ runtime: "node" });
    await client.run(node, `require("fs").writeFileSync("/session/from-node.json", JSON.stringify({a: 1}))`);
    await client.run(
      node,
      `require("fs").mkdirSync("/session/tree/sub", {recursive: true}); require("fs").writeFileSync("/session/tree/sub/x y", "deep")`,
    );
    const [file, folder, missing, special] = await bring(session, [
      { destination: "copied/here.json", session_id: node, path: "from-node.json" },
      { destination: "copied/tree", session_id: node, path: "/session/tree" },
      { destination: "copied/nothing", session_id: node, path: "nothing" },
      { destination: "copied/null", session_id: node, path: "/dev/null" },
    ]);
    expect(file).toEqual({ destination: "copied/here.json", ok: true, size: 7, sha256: sha256('{"a":1}') });
    expect(folder!.ok).toBe(true);
    expect([missing!.error?.code, special!.error?.code]).toEqual(["NOT_FOUND", "NOT_A_FILE"]);
    expect(
      (await client.run(session, `import json; json.load(open("/session/copied/here.json"))["a"]`)).text,
    ).toBe("1");
    expect(await content("copied/tree/sub/x y")).toBe("deep");
    expect((await files.get("copied/nothing")).status).toBe(404);
    const itself = await bring(session, [
      { destination: "copied/again", session_id: session, path: "copied/here.json" },
    ]);
    expect(itself[0]!.ok).toBe(true);
  });

  it("takes an artifact by its id, and not another tenant's", async () => {
    const { artifacts } = await client.run(
      session,
      `open("/session/artifacts/kept.txt", "w").write("kept"); None`,
    );
    const artifact_id = artifacts[0]!.id;
    const [kept, missing] = await bring(session, [
      { destination: "again/kept.txt", artifact_id },
      { destination: "again/none", artifact_id: artifact_id.replace(/.{6}$/, "zzzzzz") },
    ]);
    expect(kept).toEqual({ destination: "again/kept.txt", ok: true, size: 4, sha256: sha256("kept") });
    expect(missing!.error?.code).toBe("NOT_FOUND");
    expect(await content("again/kept.txt")).toBe("kept");
    const eve = await stack.clientOf("eve");
    const [stolen] = await bring((await eve.create()).id, [{ destination: "x", artifact_id }], eve);
    expect(stolen!.error?.code).toBe("NOT_FOUND");
  });

  it("copies between hosts", async () => {
    const home = mkdtempSync(join(tmpdir(), "sandbar-host-two-"));
    const { token } = await client.ok<{ token: string }>("POST", "/v1/hosts/enrollments");
    const env = { ...process.env, SANDBAR_HOME: home, SANDBAR_URL: stack.url, SANDBAR_POOL_SIZE: "0" };
    const main = join(REPO, "agent-host/src/main.ts");
    execFileSync(process.execPath, [main, "join", stack.url, token], { env, stdio: "pipe" });
    const { host_id } = JSON.parse(readFileSync(join(home, "host/identity.json"), "utf8"));
    const second = spawn(process.execPath, [main, "run"], { env, stdio: "ignore" });
    try {
      await eventually("the second host is online", 30_000, async () => {
        const host = await client.ok<{ status: string }>("GET", `/v1/hosts/${host_id}`);
        return host.status === "online";
      });
      await client.ok("POST", `/v1/hosts/${stack.hostId}/cordon`);
      const there = await client.create();
      await client.ok("POST", `/v1/hosts/${stack.hostId}/uncordon`);
      expect(there.host_id).toBe(host_id);
      const bytes = Buffer.alloc(5_000_000, "far away ");
      await files.put("travels.bin", bytes);
      const [there_] = await bring(there.id, [
        { destination: "a/travels.bin", session_id: session, path: "travels.bin" },
      ]);
      expect(there_).toMatchObject({ ok: true, size: bytes.length, sha256: sha256(bytes) });
      const [back] = await bring(session, [
        { destination: "back.bin", session_id: there.id, path: "a/travels.bin" },
      ]);
      expect(back).toMatchObject({ ok: true, sha256: sha256(bytes) });
    } finally {
      await end(second, "SIGKILL");
      await client.call("DELETE", `/v1/hosts/${host_id}`);
      await removeHost(host_id, home);
    }
  });

  it("takes host files below the allowed folders only, and through no link", async () => {
    const tried: [string, string | true][] = [
      [join(allowed, "data.csv"), true],
      [join(allowed, "sub dir/more"), true],
      [join(allowed, "empty"), true],
      [join(allowed, "./sub dir//more"), true],
      [join(outside, "secret"), "SOURCE_NOT_ALLOWED"],
      ["/etc/passwd", "SOURCE_NOT_ALLOWED"],
      ["data.csv", "SOURCE_NOT_ALLOWED"],
      [allowed, "SOURCE_NOT_ALLOWED"],
      [`${allowed}-evil/x`, "SOURCE_NOT_ALLOWED"],
      [`${allowed}/../${outside.split("/").at(-1)}/secret`, "SOURCE_NOT_ALLOWED"],
      [`${allowed}/link`, "SOURCE_NOT_ALLOWED"],
      [`${allowed}/folder-link/secret`, "SOURCE_NOT_ALLOWED"],
      [`${allowed}/inner-link/more`, "SOURCE_NOT_ALLOWED"],
      [`${allowed}/nothing`, "NOT_FOUND"],
      [`${allowed}/fifo`, "NOT_A_FILE"],
      [`${allowed}/folder-link`, "SOURCE_NOT_ALLOWED"],
    ];
    const results = await bring(
      session,
      tried.map(([source], i) => ({ destination: `host/${i}`, source })),
    );
    expect(results.map(({ ok, error }, i) => [tried[i]![0], error?.code ?? ok])).toEqual(tried);
    expect(await content("host/0")).toBe("a,b\n1,2\n");
    expect(await content("host/3")).toBe("more");
    expect(results[2]).toMatchObject({ size: 0, sha256: sha256("") });
  });

  it("takes a host folder with all it has, and its links as they are", async () => {
    const tree = join(allowed, "tree");
    const long = "l".repeat(200);
    mkdirSync(join(tree, long, long), { recursive: true });
    mkdirSync(join(tree, "empty folder"));
    writeFileSync(join(tree, long, long, "deep"), Buffer.alloc(3_000_000, "deep"));
    writeFileSync(join(tree, "run.sh"), "echo hi", { mode: 0o755 });
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0x41])]), "bytes");
    symlinkSync("run.sh", join(tree, "inner"));
    execFileSync("mkfifo", [join(tree, "pipe")]);
    const [brought] = await bring(session, [{ destination: "from/tree", source: tree }]);
    expect(brought).toMatchObject({ ok: true });
    const { stdout } = await client.run(
      session,
      `import os, json
os.chdir("/session/from/tree")
seen = {}
for folder, folders, names in os.walk(b"."):
    for name in folders + names:
        path = os.path.join(folder, name)
        kind = "link" if os.path.islink(path) else "folder" if os.path.isdir(path) else oct(os.stat(path).st_mode & 0o777)
        seen[repr(path)] = [kind, 0 if kind == "folder" else os.stat(path).st_size]
print(json.dumps(seen))`,
    );
    expect(JSON.parse(stdout)).toEqual({
      [`b'./${long}'`]: ["folder", 0],
      [`b'./${long}/${long}'`]: ["folder", 0],
      [`b'./${long}/${long}/deep'`]: ["0o644", 3_000_000],
      "b'./empty folder'": ["folder", 0],
      "b'./run.sh'": ["0o755", 7],
      "b'./\\xffA'": ["0o644", 5],
      "b'./inner'": ["link", 7],
    });
    symlinkSync(outside, join(tree, "out"));
    const [refused] = await bring(session, [{ destination: "from/other", source: tree }]);
    expect(refused!.error).toMatchObject({
      code: "ARCHIVE_INVALID",
      detail: expect.stringContaining("leads out"),
    });
    expect(await client.run(session, `os.listdir("/session/from/other")`)).toMatchObject({ text: "[]" });
  });

  it("keeps tenants apart on every route of files", async () => {
    const bob = await stack.clientOf("bob");
    const { id: own } = await bob.create();
    await files.put("private", "private");
    const missing = session.replace(/.{6}$/, "zzzzzz");
    const routes: [string, (id: string) => string, unknown?][] = [
      ["GET", (id) => `/v1/sessions/${id}/files?path=private`],
      ["DELETE", (id) => `/v1/sessions/${id}/files?path=private`],
      ["GET", (id) => `/v1/sessions/${id}/files/list`],
      ["GET", (id) => `/v1/sessions/${id}/files/stat?path=private`],
      ["GET", (id) => `/v1/sessions/${id}/files/watch`],
      ["POST", (id) => `/v1/sessions/${id}/files/mkdir`, { path: "x" }],
      ["POST", (id) => `/v1/sessions/${id}/files/move`, { from: "private", to: "x" }],
      ["POST", (id) => `/v1/sessions/${id}/import`, { files: [{ destination: "x", content: "x" }] }],
      ["PUT", (id) => `/v1/sessions/${id}/files?path=private`, "overwritten"],
    ];
    for (const [method, path, body] of routes) {
      const plain = async (id: string) => {
        const { status, body: problem } = await bob.problem(method, path(id), body);
        return [method, path("ID"), status, problem.code, problem.detail];
      };
      expect(await plain(session)).toEqual(await plain(missing));
      expect((await plain(session))[2]).toBe(404);
    }
    const [stolen] = await bring(own, [{ destination: "x", session_id: session, path: "private" }], bob);
    const [absent] = await bring(own, [{ destination: "x", session_id: missing, path: "private" }], bob);
    expect(stolen).toEqual(absent);
    expect(stolen!.error?.code).toBe("NOT_FOUND");
    expect(await content("private")).toBe("private");
  });

  it("tells of changes as they happen, and ends when the reader goes", async () => {
    const reading = new AbortController();
    const seen: string[] = [];
    const missing = await client.problem("GET", `/v1/sessions/${session}/files/watch?path=nothing`);
    expect([missing.status, missing.body.code]).toEqual([404, "NOT_FOUND"]);
    await client.ok("POST", `/v1/sessions/${session}/files/mkdir`, { path: "watched" });
    const following = (async () => {
      const path = `/v1/sessions/${session}/files/watch?path=watched`;
      for await (const { event, data } of client.events(path, { signal: reading.signal }))
        seen.push(`${event} ${data.path}${data.directory ? "/" : ""}`);
    })().catch(() => {});
    await eventually("the watch has begun", 5000, async () => {
      await files.put("watched/probe", String(Date.now()));
      return seen.length > 0;
    });
    await files.put("watched/new file", "1");
    await client.run(
      session,
      `import os
os.makedirs("/session/watched/sub/deep")
open("/session/watched/sub/deep/inner", "w").write("x")
os.rename("/session/watched/new file", "/session/watched/renamed")
os.unlink("/session/watched/renamed")`,
    );
    for (const change of [
      "created new file",
      "created sub/",
      "created sub/deep/",
      "created sub/deep/inner",
      "deleted new file",
      "created renamed",
      "deleted renamed",
    ])
      await eventually(`${change} is told (${seen})`, 5000, () => seen.includes(change));
    expect(seen.join()).not.toContain(".part");
    reading.abort();
    await following;
    await eventually("the guest has no watch left", 10_000, async () => {
      const status = await client.run(session, `print(open("/proc/1/status").read())`);
      return /Threads:\s+1\n/.test(status.stdout);
    });
  });
});
