import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { FileClient } from "../fixtures/files.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("files travel whole, whatever their name and size", () => {
  const { client } = useStack({ vars: { MAX_BODY_BYTES: String(64 * 1024 * 1024) } });
  let files: FileClient;
  let session: string;

  beforeAll(async () => {
    session = (await client.create({ runtime: "python" })).id;
    files = new FileClient(client, session);
  });

  const odd = [
    "plain.txt",
    "with space.txt",
    "new\nline",
    "quotes'\"`$(id).csv",
    "right\u202eto-left\u200f.png",
    "back\\slash",
    "percent%2e%2e%2f",
    "emoji-🦀-é.json",
    "-rf",
    "a".repeat(255),
    "deep/er/and/deeper/file",
  ];

  it.each(odd)("brings back %j as it was sent", async (name) => {
    const bytes = randomBytes(1000);
    expect(await files.put(`odd/${name}`, bytes)).toMatchObject({ size: 1000, sha256: sha256(bytes) });
    const answer = await files.get(`odd/${name}`);
    expect([answer.status, answer.bytes.equals(bytes)]).toEqual([200, true]);
    expect(answer.headers["content-length"]).toBe("1000");
    const seen = await client.run(
      session,
      `open(${JSON.stringify(`/session/odd/${name}`)}, "rb").read().hex()`,
    );
    expect(seen.text).toBe(`'${bytes.toString("hex")}'`);
  });

  it("lists all of them, with names that can be sent back, even those that are not UTF-8", async () => {
    await client.run(session, `open(b"/session/odd/bad-\\xff\\xfe", "wb").write(b"bytes"); None`);
    const { data } = await files.list({ path: "odd" });
    const names = data.map((entry) => entry.name);
    for (const name of odd) expect(names).toContain(name.split("/")[0]);
    const bad = data.find((entry) => entry.path_b64)!;
    expect(Buffer.from(bad.path_b64!, "base64")).toEqual(Buffer.from("/session/odd/bad-\xff\xfe", "latin1"));
    const answer = await files.raw("GET", { path_b64: bad.path_b64! });
    expect(answer.bytes.toString()).toBe("bytes");
    const again = Buffer.from("again");
    await files.raw("PUT", { path_b64: bad.path_b64! }, again);
    expect((await files.raw("GET", { path_b64: bad.path_b64! })).bytes).toEqual(again);
    expect((await files.raw("DELETE", { path_b64: bad.path_b64! })).status).toBe(204);
    expect((await files.raw("GET", { path_b64: bad.path_b64! })).status).toBe(404);
  });

  it("lists a large folder in pages, each entry once, children after their folder", async () => {
    const code = `
import os
for i in range(60):
    os.makedirs(f"/session/many/d{i:02}", exist_ok=True)
    for j in range(10):
        open(f"/session/many/d{i:02}/f{j}", "w").close()
None`;
    await client.run(session, code);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await files.list({ path: "many", depth: 2, limit: 97, ...(cursor ? { cursor } : {}) });
      expect(page.data.length).toBeLessThanOrEqual(97);
      seen.push(...page.data.map((entry) => entry.path));
      cursor = page.next_cursor;
    } while (cursor);
    expect(seen.length).toBe(660);
    expect(new Set(seen).size).toBe(660);
    expect(seen).toEqual([...seen].sort());
    expect((await files.list({ path: "many" })).data.length).toBe(60);
    const wrong = await client.problem("GET", `/v1/sessions/${session}/files/list?path=many&cursor=!!!`);
    expect([wrong.status, wrong.body.code]).toEqual([400, "VALIDATION_FAILED"]);
  });

  it("lists what is beside a folder that may not be looked into", async () => {
    await client.run(
      session,
      `import os
for mode in (0o000, 0o100, 0o400):
    os.makedirs(f"/session/beside/{mode}"); open(f"/session/beside/{mode}/in", "w").close(); os.chmod(f"/session/beside/{mode}", mode)
open("/session/beside/z", "w").close()`,
    );
    const { data } = await files.list({ path: "beside", depth: 3 });
    expect(data.map(({ name }) => name)).toEqual(["0", "256", "64", "z"]);
    const itself = await files.raw("GET", { path: "beside/256" }, undefined, {}, "/list");
    expect([itself.status, itself.problem.code]).toEqual([403, "PATH_NOT_PERMITTED"]);
  });

  it("takes and gives an empty file, and one without a length", async () => {
    expect((await files.put("empty", Buffer.alloc(0))).size).toBe(0);
    const empty = await files.get("empty");
    expect([empty.status, empty.bytes.length, empty.headers["content-length"]]).toEqual([200, 0, "0"]);
    const parts = Array.from({ length: 20 }, () => randomBytes(70_000));
    const sent = await files.put("chunked.bin", Readable.from(parts));
    expect(sent).toMatchObject({ size: 1_400_000, sha256: sha256(Buffer.concat(parts)) });
    expect((await files.get("chunked.bin")).bytes.equals(Buffer.concat(parts))).toBe(true);
  });

  it("answers ranges, and HEAD as GET would", async () => {
    const bytes = randomBytes(100_000);
    await files.put("range.bin", bytes);
    const range = async (value: string) => {
      const { status, headers, bytes: got } = await files.get("range.bin", { range: value });
      return { status, range: headers["content-range"], length: headers["content-length"], bytes: got };
    };
    expect(await range("bytes=10-19")).toEqual({
      status: 206,
      range: "bytes 10-19/100000",
      length: "10",
      bytes: bytes.subarray(10, 20),
    });
    expect((await range("bytes=99990-")).bytes).toEqual(bytes.subarray(99_990));
    expect((await range("bytes=-7")).bytes).toEqual(bytes.subarray(-7));
    expect((await range("bytes=0-999999")).range).toBe("bytes 0-99999/100000");
    expect((await range("bytes=1-2,5-6")).status).toBe(200);
    expect((await range("bytes=9-2")).status).toBe(200);
    const outside = await range("bytes=100000-");
    expect([outside.status, outside.range]).toEqual([416, "bytes */100000"]);
    const head = await files.raw("HEAD", { path: "range.bin" });
    const get = await files.get("range.bin");
    for (const name of ["content-length", "content-type", "content-disposition", "last-modified", "etag"])
      expect([name, head.headers[name]]).toEqual([name, get.headers[name]]);
    expect(head.bytes.length).toBe(0);
    expect((await files.raw("HEAD", { path: "nothing" })).status).toBe(404);
    const same = await files.get("range.bin", { "if-none-match": String(get.headers.etag) });
    expect([same.status, same.bytes.length]).toEqual([304, 0]);
    const looked = (etag: unknown) =>
      files.raw("HEAD", { path: "range.bin" }, undefined, { "if-none-match": String(etag) });
    expect((await looked(get.headers.etag)).status).toBe(304);
    expect((await looked('"another"')).status).toBe(200);
    await files.put("range.bin", bytes);
    expect((await files.get("range.bin", { "if-none-match": String(get.headers.etag) })).status).toBe(200);
  });

  it("labels content so that no browser runs it here", async () => {
    await files.put("page.html", "<script>alert(1)</script>");
    const { headers } = await files.get("page.html");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["content-disposition"]).toMatch(/^attachment; filename="page.html"/);
    expect(headers["content-security-policy"]).toContain("sandbox");
    await files.put('ü "x".json', "{}");
    const odd = await files.get('ü "x".json');
    expect(odd.headers["content-type"]).toContain("application/json");
    expect(odd.headers["content-disposition"]).toContain("filename*=UTF-8''%C3%BC%20%22x%22.json");
  });

  it("makes, moves, looks at and removes", async () => {
    const base = `/v1/sessions/${session}/files`;
    const made = await client.ok<{ type: string; path: string }>("POST", `${base}/mkdir`, { path: "box/in" });
    expect([made.type, made.path]).toEqual(["directory", "/session/box/in"]);
    await files.put("box/one", "1");
    await files.put("box/two", "2");
    const taken = await client.problem("POST", `${base}/move`, { from: "box/one", to: "box/two" });
    expect([taken.status, taken.body.code]).toEqual([409, "PATH_EXISTS"]);
    await client.ok("POST", `${base}/move`, { from: "box/one", to: "box/two", overwrite: true });
    expect((await files.get("box/two")).bytes.toString()).toBe("1");
    await client.ok("POST", `${base}/move`, { from: "box", to: "moved/here" });
    expect((await files.stat("moved/here/two")).size).toBe(1);
    const full = await client.problem("DELETE", `${base}?path=moved`);
    expect([full.status, full.body.code]).toEqual([409, "FOLDER_NOT_EMPTY"]);
    expect((await client.call("DELETE", `${base}?path=moved&recursive=true`)).status).toBe(204);
    expect((await client.problem("DELETE", `${base}?path=moved`)).status).toBe(404);
    const itself = await client.problem("DELETE", `${base}?path=/session&recursive=true`);
    expect([itself.status, itself.body.code]).toEqual([400, "PATH_INVALID"]);
  });

  it("keeps the mode of a file it replaces, and sets the one that is asked for", async () => {
    await files.put("run.sh", "echo 1", { mode: "755" });
    expect((await files.stat("run.sh")).mode).toBe(0o755);
    await files.put("run.sh", "echo 2");
    expect((await files.stat("run.sh")).mode).toBe(0o755);
  });

  it("lets no relative path climb out of /session, on any route; absolute ones go anywhere", async () => {
    await files.put("sub/inside", "in");
    const base = `/v1/sessions/${session}`;
    const b64 = Buffer.from("../etc/passwd").toString("base64");
    const out = "sub/../../etc/passwd";
    const asks: [string, string, unknown?][] = [
      ["GET", `/files?path=${out}`],
      ["GET", `/files?path_b64=${b64}`],
      ["PUT", "/files?path=../tmp/x", "x"],
      ["PUT", "/files?path=../tmp&extract=true", "x"],
      ["DELETE", "/files?path=../tmp/x"],
      ["GET", "/files/list?path=.."],
      ["GET", `/files/stat?path=${out}`],
      ["POST", "/files/mkdir", { path: "../tmp/folder" }],
      ["POST", "/files/move", { from: "../tmp/x", to: "x" }],
      ["POST", "/files/move", { from: "sub/inside", to: "../tmp/x" }],
      ["GET", "/files/watch?path=.."],
    ];
    for (const [method, path, body] of asks) {
      const headers: Record<string, string> = path.includes("extract")
        ? { "content-type": "application/x-tar" }
        : {};
      const answer = await client.problem(method, `${base}${path}`, body, headers);
      expect([path, answer.status, answer.body.code]).toEqual([path, 400, "PATH_INVALID"]);
    }
    const imported = await client.ok<{ data: { error?: { code: string } }[] }>("POST", `${base}/import`, {
      files: [
        { destination: "../tmp/x", content: "x" },
        { destination: "x", session_id: session, path: out },
      ],
    });
    const exported = await client.ok<typeof imported>("POST", `${base}/export`, { files: [{ source: out }] });
    const codes = [...imported.data, ...exported.data].map(({ error }) => error?.code);
    expect(codes).toEqual(["PATH_INVALID", "PATH_INVALID", "PATH_INVALID"]);
    expect((await files.get("sub/../sub/./inside")).bytes.toString()).toBe("in");
    expect((await files.get("/session/../etc/passwd")).status).toBe(200);
  });

  it("says what is wrong with a path, and what is too large", async () => {
    const refusals: [string, Record<string, string>, number, string][] = [
      ["GET", { path: "" }, 400, "PATH_INVALID"],
      ["GET", { path: "a\0b" }, 400, "PATH_INVALID"],
      ["GET", { path_b64: "!!" }, 400, "PATH_INVALID"],
      ["GET", { path_b64: Buffer.from("a\0b").toString("base64") }, 400, "PATH_INVALID"],
      ["GET", { path: "b".repeat(256) }, 400, "PATH_INVALID"],
      ["GET", { path: "c/".repeat(3000) }, 400, "VALIDATION_FAILED"],
      ["GET", { path: "nothing/here" }, 404, "NOT_FOUND"],
      ["GET", { path: "/etc/shadow" }, 403, "PATH_NOT_PERMITTED"],
      ["PUT", { path: "/etc/new" }, 403, "PATH_NOT_PERMITTED"],
      ["PUT", { path: "/proc/new" }, 404, "NOT_FOUND"],
      ["PUT", { path: "odd" }, 422, "NOT_A_FILE"],
      ["PUT", { path: "odd/.." }, 400, "PATH_INVALID"],
      ["PUT", { path: "trailing/" }, 400, "PATH_INVALID"],
      ["PUT", { path: "plain.txt/x", mkdirs: "false" }, 404, "NOT_FOUND"],
    ];
    for (const [method, query, status, code] of refusals) {
      const answer = await files.raw(method, query, method === "PUT" ? "x" : undefined);
      expect([method, query, answer.status, answer.problem?.code]).toEqual([method, query, status, code]);
    }
    const big = Buffer.alloc(65 * 1024 * 1024);
    // Who is refused hears why, however much was on its way.
    for (let i = 0; i < 5; i++) {
      const refused = await files.raw("PUT", { path: "big" }, big);
      expect([refused.status, refused.problem?.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
      const invalid = await files.raw("PUT", { path: "odd/.." }, big.subarray(0, 30 * 1024 * 1024));
      expect([invalid.status, invalid.problem?.code]).toEqual([400, "PATH_INVALID"]);
    }
    const chunks = Readable.from(Array.from({ length: 65 }, () => Buffer.alloc(1024 * 1024)));
    const counted = await files.raw("PUT", { path: "big" }, chunks);
    expect([counted.status, counted.problem?.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    expect((await files.get("big")).status).toBe(404);
  });

  it("says when the session's storage is full, keeps what was there, and goes on", async () => {
    await files.put("keep", "kept");
    const small = new FileClient(
      client,
      (await client.create({ limits: { memory_mb: 256, tmpfs_mb: 16 } })).id,
    );
    await small.put("keep", "kept");
    for (const body of [Buffer.alloc(20 << 20), Readable.from([Buffer.alloc(20 << 20)])]) {
      const answer = await small.raw("PUT", { path: "keep" }, body);
      expect([answer.status, answer.problem.code]).toEqual([507, "STORAGE_FULL"]);
    }
    expect((await small.get("keep")).bytes.toString()).toBe("kept");
    const left = (await small.list({ path: "." })).data.map(({ name }) => name);
    expect(left).toContain("keep");
    expect(left.filter((name) => name.includes("part"))).toEqual([]);
  });

  it("counts as use of the session", async () => {
    const before = (await client.ok<{ last_used_at: string }>("GET", `/v1/sessions/${session}`)).last_used_at;
    await files.put("use", "x");
    const after = (await client.ok<{ last_used_at: string }>("GET", `/v1/sessions/${session}`)).last_used_at;
    expect(Date.parse(after)).toBeGreaterThan(Date.parse(before));
  });
});
