/** Snapshots as the control plane keeps them: rows, chunks, who may bring and fetch them, and what goes when they go. */
import {
  type Chunk,
  type Manifest,
  newId,
  type Problem,
  type RunOnceAnswer,
  SNAPSHOT_FORMAT,
  type Snapshot,
} from "@sandbar/shared";
import { beforeAll, describe, expect, it } from "vitest";
import { deleteSnapshot, hex } from "../../worker/src/artifacts/blob-store.ts";
import { sweepArtifacts } from "../../worker/src/artifacts/sweep.ts";
import type { Env } from "../../worker/src/env.ts";
import { forkSession } from "../../worker/src/snapshots/fork.ts";
import { bindings, Client } from "./client.ts";
import { type FakeDaemon, onlyHost, until } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
let session: string;

const utf8 = (text: string) => new TextEncoder().encode(text);
const sha256 = async (bytes: Uint8Array) => hex(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
const asChunk = async (text: string) => {
  const bytes = utf8(text);
  return { bytes, chunk: [await sha256(bytes), bytes.length] as Chunk };
};

beforeAll(async () => {
  daemon = await onlyHost();
  client = await Client.of("snapshots");
  session = (await client.session()).id;
});

function manifestOf(files: readonly Chunk[], over: Partial<Manifest["session"]> = {}): Manifest {
  return {
    format: SNAPSHOT_FORMAT,
    session: {
      runtime: "python",
      engine: "container",
      image: null,
      image_used: "sandbar/python",
      languages: ["python", "bash"],
      storage: "TMPFS",
      dataset_access: "NONE",
      network: "none",
      limits: { memory_mb: 512, cpus: 1, pids: 128, tmpfs_mb: 64, timeout_s: 20 },
      dependencies: {},
      env: { GREETING: "hi" },
      ...over,
    },
    contexts: [
      {
        name: "python",
        language: "python",
        format: "python-cloudpickle/1",
        state: { size: 0, chunks: [] },
        variables: [
          { name: "df", type: "DataFrame", status: "saved" },
          { name: "gen", type: "generator", status: "lost", reason: "generators cannot be saved" },
        ],
        more: 3,
      },
      {
        name: "shell",
        language: "bash",
        format: null,
        state: { size: 0, chunks: [] },
        variables: [],
        more: 0,
      },
    ],
    files: { size: files.reduce((sum, [, size]) => sum + size, 0), chunks: [...files] },
  };
}

type Given = Awaited<ReturnType<typeof asChunk>>;

const lined = (header: object, parts: readonly Uint8Array[]) =>
  new Blob([`${JSON.stringify(header)}\n`, ...parts]).bytes();

async function bring(id: string, given: readonly Given[], of = session): Promise<string[]> {
  const target = { session: of, snapshot: id };
  const check = await daemon.signed("snapshots", of, "POST", "/agent/snapshots/check", {
    ...target,
    chunks: given.map(({ chunk }) => chunk),
  });
  expect(check.status).toBe(200);
  const { missing } = await check.json<{ missing: string[] }>();
  const lacking = given.filter(({ chunk }) => missing.includes(chunk[0]));
  if (lacking.length === 0) return missing;
  const body = await lined(
    { ...target, chunks: lacking.map(({ chunk }) => chunk) },
    lacking.map(({ bytes }) => bytes),
  );
  const put = await daemon.signed("snapshots", of, "PUT", "/agent/snapshots/chunks", body);
  expect(put.status, await put.clone().text()).toBe(204);
  return missing;
}

async function finish(id: string, manifest: object, of = session) {
  const bytes = utf8(JSON.stringify(manifest));
  const header = { session: of, snapshot: id, sha256: await sha256(bytes) };
  const body = await lined(header, [bytes]);
  return daemon.signed("snapshots", of, "PUT", "/agent/snapshots/manifest", body);
}

/** Asks for a snapshot and lets the daemon do `work` for it. */
async function take(
  work: (id: string) => Promise<unknown>,
  request: object = {},
  headers: Record<string, string> = {},
) {
  const seen = new Set(daemon.frames);
  const asking = client.call<Snapshot & Problem>(
    "POST",
    `/v1/sessions/${session}/snapshots`,
    request,
    headers,
  );
  const call = await daemon.waitFor("call", (frame) => frame.method === "snapshots.take" && !seen.has(frame));
  const { snapshot } = call.params as { snapshot: string };
  try {
    await work(snapshot);
    daemon.send({ t: "answer", id: call.id, result: null });
  } catch (error) {
    const { code = "HOST_ERROR", detail } = error as { code?: "HOST_ERROR"; detail: string };
    daemon.send({ t: "answer", id: call.id, failure: { code, detail } });
  }
  return asking;
}

const taken = async (
  given: readonly Given[],
  request: object = {},
  over: Partial<Manifest["session"]> = {},
) => {
  const answer = await take(async (id) => {
    await bring(id, given);
    const done = await finish(
      id,
      manifestOf(
        given.map(({ chunk }) => chunk),
        over,
      ),
    );
    expect(done.status, await done.clone().text()).toBe(204);
  }, request);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
};

const rowsOf = async (sql: string, ...values: string[]) =>
  (
    await bindings.DB.prepare(sql)
      .bind(...values)
      .all()
  ).results;
const storedAs = (digest: string) =>
  rowsOf("SELECT * FROM blobs WHERE tenant = 'snapshots' AND sha256 = ?", digest);
const total = async () =>
  (await bindings.DB.prepare("SELECT bytes, count FROM storage_totals WHERE scope = 't/snapshots'").first<{
    bytes: number;
    count: number;
  }>()) ?? { bytes: 0, count: 0 };

describe("a snapshot", () => {
  it("is there with its report when the host has brought it, and is listed", async () => {
    const made = await taken([await asChunk("first files")], { name: "one", ttl_s: 3600 });
    expect(made).toMatchObject({
      name: "one",
      session_id: session,
      runtime: "python",
      engine: "container",
      image: "sandbar/python",
      files_bytes: 11,
      size: 11,
    });
    expect(made.contexts[0]).toMatchObject({ saved: 4, degraded: 0, lost: 1 });
    expect(made.contexts[0]!.variables[0]).toMatchObject({ name: "gen", status: "lost" });
    expect(made.expires_at).toBe(new Date(made.expires_at).toISOString());
    const kept = Date.parse(made.expires_at) - 3600_000;
    expect(kept).toBeGreaterThanOrEqual(Date.parse(made.created_at));
    expect(kept).toBeLessThanOrEqual(Date.now());
    expect((await client.call("GET", `/v1/snapshots/${made.id}`)).body).toEqual(made);
    const { body } = await client.call<{ data: Snapshot[] }>("GET", `/v1/sessions/${session}/snapshots`);
    expect(body.data.map(({ id }) => id)).toContain(made.id);
    const named = await client.call<{ data: Snapshot[] }>("GET", "/v1/snapshots?name=one");
    expect(named.body.data.map(({ id }) => id)).toEqual([made.id]);
  });

  it("is on a page that ends early when what is told of variables is long", async () => {
    const made: string[] = [];
    const manifest = manifestOf([]);
    for (let i = 0; i < 3; i++) {
      const { status, body } = await take(async (id) => void (await finish(id, manifest)), { name: "long" });
      expect(status).toBe(201);
      made.unshift(body.id);
    }
    await bindings.DB.prepare(
      "UPDATE snapshots SET summary = json_set(summary, '$.image', hex(zeroblob(750000))) WHERE name = 'long'",
    ).run();
    const page = async (query = "") => {
      const path = `/v1/snapshots?name=long${query}`;
      const { body } = await client.call<{ data: Snapshot[]; next_cursor: string | null }>("GET", path);
      return { ids: body.data.map(({ id }) => id), next: body.next_cursor };
    };
    expect(await page()).toEqual({ ids: made.slice(0, 2), next: made[1] });
    expect(await page(`&cursor=${made[1]}`)).toEqual({ ids: [made[2]], next: null });
    expect(await page("&limit=1")).toEqual({ ids: [made[0]], next: made[0] });
    expect(await page(`&limit=1&cursor=${made[1]}`)).toEqual({ ids: [made[2]], next: null });
  });

  it("shares its content with others, counts once, and frees it with the last that needs it", async () => {
    const before = await total();
    const shared = await asChunk("shared by two".repeat(10_000));
    const own = await asChunk("only of the second");
    const first = await taken([shared]);
    const second = await taken([shared, own]);
    expect(second.new_bytes).toBeLessThan(shared.bytes.length);
    expect(second.new_bytes).toBeGreaterThanOrEqual(own.bytes.length);
    expect(await storedAs(shared.chunk[0])).toHaveLength(1);
    expect(await total()).toEqual({
      bytes: before.bytes + first.new_bytes + second.new_bytes,
      count: before.count + 2,
    });

    expect((await client.call("DELETE", `/v1/snapshots/${first.id}`)).status).toBe(204);
    expect((await client.call("GET", `/v1/snapshots/${first.id}`)).status).toBe(404);
    const [kept] = (await storedAs(shared.chunk[0])) as { object_key: string }[];
    expect(await bindings.BLOBS.head(kept!.object_key)).not.toBeNull();
    expect((await client.call("DELETE", `/v1/snapshots/${second.id}`)).status).toBe(204);
    expect(await storedAs(shared.chunk[0])).toHaveLength(0);
    expect(await bindings.BLOBS.head(kept!.object_key)).toBeNull();
    expect(await total()).toEqual(before);
  });

  it("keeps what it was told that the tenant has, though everybody else lets go of it", async () => {
    const given = await asChunk("let go of meanwhile");
    const first = await taken([given]);
    const second = await take(async (id) => {
      expect(await bring(id, [given])).toEqual([]);
      await deleteSnapshot(bindings, "snapshots", first.id);
      expect((await finish(id, manifestOf([given.chunk]))).status).toBe(204);
    });
    expect(second.status).toBe(201);
    expect(await storedAs(given.chunk[0])).toHaveLength(1);
  });

  it("that fails leaves nothing of it, and says why", async () => {
    const before = await total();
    const given = await asChunk("brought in vain");
    const answer = await take(async (id) => {
      await bring(id, [given]);
      throw { code: "CONTEXT_BUSY", detail: "code runs in python" };
    });
    expect(answer).toMatchObject({ status: 409, body: { code: "CONTEXT_BUSY", retryable: true } });
    expect(await storedAs(given.chunk[0])).toHaveLength(0);
    expect(await total()).toEqual(before);
  });

  it("is not complete without its chunks, nor with other bytes, nor when it was given up", async () => {
    const given = await asChunk("never brought");
    const answer = await take(async (id) => {
      const early = await finish(id, manifestOf([given.chunk]));
      expect(await early.json()).toMatchObject({ code: "VALIDATION_FAILED" });
      const target = { session, snapshot: id, chunks: [given.chunk] };
      const other = await lined(target, [utf8("never_brought")]);
      const put = await daemon.signed("snapshots", session, "PUT", "/agent/snapshots/chunks", other);
      expect(await put.json()).toMatchObject({ code: "VALIDATION_FAILED" });
      const late = await daemon.signed("snapshots", session, "POST", "/agent/snapshots/check", {
        session,
        snapshot: newId("snp"),
        chunks: [given.chunk],
      });
      expect(late.status).toBe(404);
      throw { detail: "gave up" };
    });
    expect(answer.status).toBe(502);
  });

  it("is the same one for the same Idempotency-Key, also while it is being made", async () => {
    const key = { "Idempotency-Key": "snap-1" };
    const first = await take(async (id) => void (await finish(id, manifestOf([]))), {}, key);
    const again = await client.call<Snapshot>("POST", `/v1/sessions/${session}/snapshots`, {}, key);
    expect(again.body).toEqual(first.body);
  });

  it("stays when a second request for it comes to a host that has finished it", async () => {
    const key = { "Idempotency-Key": "snap-2" };
    const path = `/v1/sessions/${session}/snapshots`;
    const given = await asChunk("finished between two questions");
    const seen = new Set(daemon.frames);
    const asked = () =>
      daemon.frames.filter(
        (frame) => frame.t === "call" && frame.method === "snapshots.take" && !seen.has(frame),
      ) as { id: string; params: { snapshot: string } }[];
    const first = client.call<Snapshot>("POST", path, {}, key);
    const { snapshot } = (await until(() => asked()[0])).params;
    const second = client.call<Snapshot>("POST", path, {}, key);
    const [one, other] = await until(() => asked().length === 2 && asked());
    expect(other!.params.snapshot).toBe(snapshot);
    await bring(snapshot, [given]);
    expect((await finish(snapshot, manifestOf([given.chunk]))).status).toBe(204);
    for (const { id } of [other!, one!])
      daemon.send({ t: "answer", id, failure: { code: "NOT_FOUND", detail: "nobody is writing it" } });
    expect((await second).body).toMatchObject({ id: snapshot });
    expect((await first).body).toMatchObject({ id: snapshot });
    expect(await storedAs(given.chunk[0])).toHaveLength(1);
    // Whoever gives up what was being written comes too late.
    await deleteSnapshot(bindings, "snapshots", snapshot, "writing");
    expect((await client.call("GET", `/v1/snapshots/${snapshot}`)).status).toBe(200);
    expect(await rowsOf("SELECT 1 FROM snapshot_chunks WHERE snapshot_id = ?", snapshot)).toHaveLength(2);
    expect(await storedAs(given.chunk[0])).toHaveLength(1);
  });

  it("is given up by the request that began it, not by one that joined", async () => {
    const key = { "Idempotency-Key": "snap-3" };
    const joined = newId("snp");
    await bindings.DB.prepare(
      `INSERT INTO snapshots (id, tenant, session_id, state, request_key, created_at, expires_at)
       VALUES (?, 'snapshots', ?, 'writing', 'snap-3', ?, '2999-01-01T00:00:00.000Z')`,
    )
      .bind(joined, session, new Date().toISOString())
      .run();
    const answer = await take(
      async (id) => {
        expect(id).toBe(joined);
        throw { detail: "gave up" };
      },
      {},
      key,
    );
    expect(answer.status).toBe(502);
    expect(await rowsOf("SELECT state FROM snapshots WHERE id = ?", joined)).toEqual([{ state: "writing" }]);
    await deleteSnapshot(bindings, "snapshots", joined, "writing");
    expect(await rowsOf("SELECT state FROM snapshots WHERE id = ?", joined)).toEqual([]);
  });

  it("goes when its time is over, and one that nobody finished goes too", async () => {
    const given = await asChunk("kept for a while");
    const made = await taken([given]);
    await bindings.DB.prepare("UPDATE snapshots SET expires_at = ? WHERE id = ?")
      .bind(new Date(Date.now() - 1).toISOString(), made.id)
      .run();
    expect((await client.call("GET", `/v1/snapshots/${made.id}`)).status).toBe(404);
    const abandoned = newId("snp");
    await bindings.DB.prepare(
      `INSERT INTO snapshots (id, tenant, session_id, state, created_at, expires_at)
       VALUES (?, 'snapshots', ?, 'writing', ?, ?)`,
    )
      .bind(abandoned, session, "2020-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z")
      .run();
    await sweepArtifacts(bindings);
    expect(await rowsOf("SELECT id FROM snapshots WHERE id IN (?, ?)", made.id, abandoned)).toEqual([]);
    expect(await storedAs(given.chunk[0])).toHaveLength(0);
  });

  it("may take hours, and longer than it is then kept", async () => {
    const hours = (ago: number) => new Date(Date.now() - ago * 3600_000).toISOString();
    const slow = await take(
      async (id) => {
        await bindings.DB.prepare("UPDATE snapshots SET created_at = ?, expires_at = ? WHERE id = ?")
          .bind(hours(2.5), hours(1.5), id)
          .run();
        await sweepArtifacts(bindings);
        expect((await finish(id, manifestOf([]))).status).toBe(204);
        await sweepArtifacts(bindings);
      },
      { ttl_s: 3600 },
    );
    expect(slow.status).toBe(201);
    expect(Date.parse(slow.body.expires_at)).toBeGreaterThan(Date.now() + 3000_000);
  });

  it("is within the tenant's quota, or not at all", async () => {
    const before = await total();
    const given = await asChunk("more than there is room for");
    const answer = await take(async (id) => {
      await bindings.DB.prepare("UPDATE storage_totals SET max_bytes = ? WHERE scope = 't/snapshots'")
        .bind(before.bytes + 5)
        .run();
      const target = { session, snapshot: id, chunks: [given.chunk] };
      const put = await daemon.signed(
        "snapshots",
        session,
        "PUT",
        "/agent/snapshots/chunks",
        await lined(target, [given.bytes]),
      );
      throw await put.json();
    });
    expect(answer).toMatchObject({ status: 403, body: { code: "QUOTA_EXCEEDED" } });
    expect(await total()).toEqual(before);
  });
});

it("is downloaded as a line, its manifest and its chunks", async () => {
  const given = [await asChunk("one chunk"), await asChunk("and another")];
  const made = await taken(given);
  const answer = await client.fetch(`/v1/snapshots/${made.id}/content`);
  expect(answer.status).toBe(200);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  expect(bytes.length).toBe(Number(answer.headers.get("Content-Length")));
  const end = bytes.indexOf(10);
  const line = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  expect(line).toMatchObject({ format: SNAPSHOT_FORMAT, digest: made.digest });
  const manifest = bytes.subarray(end + 1, end + 1 + line.manifest_bytes);
  expect(await sha256(manifest)).toBe(made.digest);
  expect(new TextDecoder().decode(bytes.subarray(end + 1 + line.manifest_bytes))).toBe(
    "one chunkand another",
  );
});

describe("one call", () => {
  /** The daemon answers the question for a snapshot of whichever session asks next. */
  async function answerTake(given: readonly Given[], seen: Set<unknown>): Promise<void> {
    const call = await daemon.waitFor(
      "call",
      (frame) => frame.method === "snapshots.take" && !seen.has(frame),
    );
    const { snapshot } = call.params as { snapshot: string };
    await bring(snapshot, given, call.session);
    const manifest = manifestOf(given.map(({ chunk }) => chunk));
    expect((await finish(snapshot, manifest, call.session)).status).toBe(204);
    daemon.send({ t: "answer", id: call.id, result: null });
  }

  it("gives bytes that only this deployment and tenant can go on with, and keeps nothing", async () => {
    const before = await total();
    const given = await asChunk("state that the caller carries");
    const seen = new Set<unknown>(daemon.frames);
    const asking = client.call<{ snapshot_bytes: string; execution: { stdout: string } }>("POST", "/v1/run", {
      code: "x = 1",
      keep: "bytes",
    });
    await answerTake([given], seen);
    const { status, body } = await asking;
    expect([status, body.execution.stdout]).toEqual([200, "x = 1"]);
    expect(await total()).toEqual(before);

    daemon.obliging = false;
    const again = client.call<{ restored: unknown }>("POST", "/v1/run", {
      code: "x",
      snapshot_bytes: body.snapshot_bytes,
    });
    const commands = daemon.commands.length;
    const { session: fresh } = await until(() =>
      daemon.commands
        .slice(commands - 1)
        .find(({ command }) => command.type === "session.create" && command.spec.restore),
    );
    daemon.obliging = true;
    daemon.report(fresh, { state: "ready", languages: ["python"], image: "i", restored: [] });
    expect((await again).body.restored).toMatchObject({ contexts: [] });
    expect(await total()).toEqual(before);

    const stranger = await Client.of("snapshots-stranger");
    const text = atob(body.snapshot_bytes);
    const changed = btoa(text.replace("state that", "state thot"));
    const manifest = btoa(text.replace('"format"', '"farmot"'));
    for (const [who, snapshot_bytes] of [
      [stranger, body.snapshot_bytes],
      [client, changed],
      [client, manifest],
      [client, body.snapshot_bytes.slice(0, -8)],
      [client, "AAAA"],
    ] as const)
      expect(await who.call("POST", "/v1/run", { code: "x", snapshot_bytes })).toMatchObject({
        status: 422,
        body: { code: "SNAPSHOT_DAMAGED" },
      });
    expect(await total()).toEqual(before);
  });
});

describe("one call that cannot keep what it should", () => {
  it.each(["snapshot", "bytes"])("answers what the code did, and why: %s", async (keep) => {
    const before = await total();
    const ran = daemon.ran.size;
    const seen = new Set<unknown>(daemon.frames);
    const asking = client.call<RunOnceAnswer>("POST", "/v1/run", { code: "sent = 1", keep });
    const call = await daemon.waitFor(
      "call",
      (frame) => frame.method === "snapshots.take" && !seen.has(frame),
    );
    daemon.send({ t: "answer", id: call.id, failure: { code: "HOST_UNREACHABLE", detail: "it is away" } });
    const { status, body } = await asking;
    expect([status, body.execution.stdout]).toEqual([200, "sent = 1"]);
    expect(body).toMatchObject({ keep_error: { code: "HOST_UNREACHABLE", detail: "it is away" } });
    expect(body.keep_error!.hint).not.toBe("");
    expect(body).not.toHaveProperty("snapshot");
    expect(body).not.toHaveProperty("snapshot_bytes");
    expect(daemon.ran.size).toBe(ran + 1);
    expect((await total()).bytes).toBe(before.bytes);
  });
});

describe("a session from a snapshot", () => {
  it("has its specification unless it asks for another, and gives its report when it is ready", async () => {
    const given = await asChunk("files of the origin");
    const made = await taken([given]);
    daemon.obliging = false;
    const asking = client.call<{ id: string; restored: unknown }>("POST", "/v1/sessions", {
      snapshot: made.id,
      env: { MORE: "1" },
      limits: { cpus: 2 },
    });
    const { session: fresh, command } = await daemon.waitFor(
      "command",
      (frame) => frame.command.type === "session.create" && frame.command.spec.restore?.snapshot === made.id,
    );
    expect(command).toMatchObject({
      spec: {
        limits: { memory_mb: 512, cpus: 2, timeout_s: 20 },
        env: { GREETING: "hi", MORE: "1" },
        restore: { snapshot: made.id, digest: made.digest },
      },
    });
    // Its host, and nobody else's, gets the bytes.
    const read = { session: fresh, snapshot: made.id, chunks: [given.chunk[0]] };
    const bytes = await daemon.signed("snapshots", fresh, "POST", "/agent/snapshots/read", read);
    expect(await bytes.text()).toBe("files of the origin");
    const elsewhere = await daemon.signed("snapshots", session, "POST", "/agent/snapshots/read", {
      ...read,
      session,
    });
    expect(elsewhere.status).toBe(404);
    daemon.report(fresh, {
      state: "ready",
      languages: ["python", "bash"],
      image: "sandbar/python",
      restored: [{ name: "python", language: "python", saved: 4, degraded: 0, lost: 1, variables: [] }],
    });
    const { status, body } = await asking;
    expect(status).toBe(201);
    expect(body.restored).toMatchObject({
      snapshot: made.id,
      at: made.created_at,
      contexts: [{ name: "python", saved: 4, lost: 1 }],
    });
    const { body: contexts } = await client.call<{ data: { name: string }[] }>(
      "GET",
      `/v1/sessions/${fresh}/contexts`,
    );
    expect(contexts.data.map(({ name }) => name).sort()).toEqual(["python", "shell"]);
    daemon.obliging = true;
  });

  it("fails on a host that has never heard of snapshots, instead of being empty", async () => {
    const made = await taken([]);
    const { status, body } = await client.call<Problem>("POST", "/v1/sessions", { snapshot: made.id });
    expect([status, body.code]).toEqual([502, "SESSION_START_FAILED"]);
  });

  it("is of the snapshot's language and engine, and a key means one snapshot", async () => {
    const made = await taken([]);
    for (const wrong of [{ runtime: "node" }, { engine: "wasm" }])
      expect(await client.call("POST", "/v1/sessions", { snapshot: made.id, ...wrong })).toMatchObject({
        status: 400,
        body: { code: "VALIDATION_FAILED" },
      });
    await client.session({ key: "taken" });
    const conflict = await client.call("POST", "/v1/sessions", { snapshot: made.id, key: "taken" });
    expect(conflict).toMatchObject({ status: 409, body: { code: "SESSION_KEY_CONFLICT" } });
  });

  it("is found by its key when the snapshot is gone, and only what a request gives must agree", async () => {
    const made = await taken([]);
    daemon.obliging = false;
    const wanted = { snapshot: made.id, key: "from-snapshot" };
    const more = { limits: { cpus: 2 }, env: { MORE: "1" } };
    const asking = client.call<{ id: string }>("POST", "/v1/sessions", { ...wanted, ...more });
    const { session: fresh } = await daemon.waitFor(
      "command",
      ({ command }) => command.type === "session.create" && command.spec.restore?.snapshot === made.id,
    );
    daemon.report(fresh, { state: "ready", languages: ["python"], image: "i", restored: [] });
    daemon.obliging = true;
    expect(await asking).toMatchObject({ status: 201, body: { id: fresh } });
    const found = { status: 200, body: { id: fresh } };
    expect(await client.call("POST", "/v1/sessions", wanted)).toMatchObject(found);
    await deleteSnapshot(bindings, "snapshots", made.id);
    expect(await client.call("POST", "/v1/sessions", { ...wanted, ...more })).toMatchObject(found);
    const other = await client.call<Problem>("POST", "/v1/sessions", { ...wanted, limits: { cpus: 1 } });
    expect(other).toMatchObject({ status: 409, body: { code: "SESSION_KEY_CONFLICT" } });
    await client.call("DELETE", `/v1/sessions/${fresh}`);
    expect((await client.call("POST", "/v1/sessions", wanted)).status).toBe(404);
  });

  it("does not begin with bytes that the store lost or changed", async () => {
    const made = await taken([]);
    const [row] = (await storedAs(made.digest)) as { object_key: string }[];
    await bindings.BLOBS.put(row!.object_key, "something else");
    expect(await client.call("POST", "/v1/sessions", { snapshot: made.id })).toMatchObject({
      status: 422,
      body: { code: "SNAPSHOT_DAMAGED" },
    });
  });

  it("damaged chunks are forgotten when a host meets them, so that the next snapshot brings them", async () => {
    const given = await asChunk("rots in the store");
    const made = await taken([given]);
    const [row] = (await storedAs(given.chunk[0])) as { object_key: string }[];
    await bindings.BLOBS.put(row!.object_key, "rots in the stare");
    daemon.obliging = false;
    const asking = client.call("POST", "/v1/sessions", { snapshot: made.id });
    const { session: fresh } = await daemon.waitFor(
      "command",
      ({ command }) => command.type === "session.create" && command.spec.restore?.snapshot === made.id,
    );
    const told = { session: fresh, snapshot: made.id, sha256: given.chunk[0] };
    expect((await daemon.signed("snapshots", fresh, "POST", "/agent/snapshots/damaged", told)).status).toBe(
      200,
    );
    daemon.report(fresh, { state: "failed", failure: { code: "SNAPSHOT_DAMAGED", detail: "a chunk" } });
    expect(await asking).toMatchObject({ status: 422, body: { code: "SNAPSHOT_DAMAGED" } });
    daemon.obliging = true;
    expect(await storedAs(given.chunk[0])).toHaveLength(0);
    await taken([given]);
    const [anew] = (await storedAs(given.chunk[0])) as { object_key: string }[];
    expect(await (await bindings.BLOBS.get(anew!.object_key))!.text()).toBe("rots in the store");
  });
});

describe("a fork", () => {
  it("stops those that were made when another one cannot even be asked for", async () => {
    let asked = 0;
    const SESSIONS = {
      getByName(name: string) {
        const stub = bindings.SESSIONS.getByName(name);
        if (name.endsWith(session) || ++asked > 1) return stub;
        return { create: () => Promise.reject(new Error("it is gone")) };
      },
    } as unknown as Env["SESSIONS"];
    const seen = new Set(daemon.frames);
    const caller = { tenant: "snapshots", made_by: "test" };
    daemon.obliging = false;
    const forking = forkSession({ ...bindings, SESSIONS }, caller, { request: "req_1" }, session, {
      count: 2,
    });
    const failing = expect(forking).rejects.toThrow("it is gone");
    const call = await daemon.waitFor(
      "call",
      (frame) => frame.method === "snapshots.take" && !seen.has(frame),
    );
    const { snapshot } = call.params as { snapshot: string };
    await finish(snapshot, manifestOf([]));
    daemon.send({ t: "answer", id: call.id, result: null });
    const { session: other } = await daemon.waitFor(
      "command",
      (frame) => frame.command.type === "session.create" && frame.command.spec.restore?.snapshot === snapshot,
    );
    daemon.obliging = true;
    // It could not be ready without the snapshot, which must still be there.
    expect((await client.call("GET", `/v1/snapshots/${snapshot}`)).status).toBe(200);
    daemon.report(other, { state: "ready", languages: ["python"], image: "i", restored: [] });
    await failing;
    const { body } = await client.call<{ status: string }>("GET", `/v1/sessions/${other}`);
    expect(body.status).toBe("stopped");
    expect((await client.call("GET", `/v1/snapshots/${snapshot}`)).status).toBe(404);
  });

  it("is all of its sessions or none, and leaves no snapshot", async () => {
    const fork = async (finally_: (fresh: string, index: number) => void) => {
      daemon.obliging = false;
      const seen = new Set(daemon.commands);
      const frames = new Set(daemon.frames);
      const asking = client.call<{ data: { id: string }[] } & Problem>(
        "POST",
        `/v1/sessions/${session}/fork`,
        {
          count: 3,
        },
      );
      const call = await daemon.waitFor(
        "call",
        (frame) => frame.method === "snapshots.take" && !frames.has(frame),
      );
      const { snapshot } = call.params as { snapshot: string };
      await finish(snapshot, manifestOf([]));
      daemon.send({ t: "answer", id: call.id, result: null });
      const creations = await until(() => {
        const made = daemon.commands.filter((one) => !seen.has(one) && one.command.type === "session.create");
        return made.length === 3 && made;
      });
      daemon.obliging = true;
      creations.forEach((one, index) => {
        finally_(one.session, index);
      });
      const answer = await asking;
      expect((await client.call("GET", `/v1/snapshots/${snapshot}`)).status).toBe(404);
      return { answer, ids: creations.map((one) => one.session) };
    };
    const ready = (fresh: string) =>
      daemon.report(fresh, { state: "ready", languages: ["python"], image: "i", restored: [] });
    const good = await fork(ready);
    expect(good.answer.status).toBe(201);
    expect(good.answer.body.data.map(({ id }) => id).sort()).toEqual(good.ids.sort());

    const bad = await fork((fresh, index) =>
      index === 1
        ? daemon.report(fresh, { state: "failed", failure: { code: "SNAPSHOT_DAMAGED", detail: "no" } })
        : ready(fresh),
    );
    expect(bad.answer).toMatchObject({ status: 422, body: { code: "SNAPSHOT_DAMAGED" } });
    for (const id of bad.ids) {
      const { body } = await client.call<{ status: string }>("GET", `/v1/sessions/${id}`);
      expect(["stopped", "failed"]).toContain(body.status);
    }
  });
});
