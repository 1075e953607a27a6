import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { boundOf, Cgroups } from "@sandbar/agent-host/src/wasm/cgroups.ts";
import { isRunning, listGuests } from "@sandbar/agent-host/src/wasm/guest-process.ts";
import type { HostLoad, Session } from "@sandbar/shared";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const WHATEVER_COMES = "while True:\n    try:\n        while True: pass\n    except BaseException: pass";

describe("a host with the WebAssembly engine", () => {
  const { stack, client } = useStack({ agentEnv: { SANDBAR_ENGINE: "wasm", SANDBAR_POOL_SIZE: "0" } });
  let session: string;

  beforeAll(async () => {
    session = (await client.create({ engine: "wasm" })).id;
  }, 120_000);

  const run = (code: string, more: Record<string, unknown> = {}) => client.run(session, code, more);

  it("begins as if no code had run", async () => {
    expect(await run("print('_' in globals())\nraise ValueError")).toMatchObject({
      stdout: "False\n",
      error: { traceback: expect.stringContaining("<cell 1>") },
    });
  });

  it("runs code: values, output, errors, variables that stay", async () => {
    expect(await run("x = 41\nprint('hi')\nx + 1")).toMatchObject({
      status: "ok",
      stdout: "hi\n",
      results: [{ "text/plain": "42" }],
    });
    expect(await run("1 / 0")).toMatchObject({ status: "error", error: { name: "ZeroDivisionError" } });
    expect(await run("import asyncio\nawait asyncio.sleep(0.01)\nx")).toMatchObject({ status: "ok" });
  });

  it("interrupts a loop at its timeout and keeps the variables", async () => {
    await run("kept = 1");
    expect(await run("while True: pass", { timeout_s: 0.5 })).toMatchObject({
      status: "timeout",
      state: { variables: "kept", files: "kept" },
    });
    expect(await run("import time\ntime.sleep(60)", { timeout_s: 0.5 })).toMatchObject({
      status: "timeout",
      state: { variables: "kept" },
    });
    expect(await run("import asyncio\nawait asyncio.sleep(60)", { timeout_s: 0.5 })).toMatchObject({
      status: "timeout",
    });
    expect((await run("print(kept)")).stdout).toBe("1\n");
  });

  it("kills what does not yield: files are kept, variables are lost, the next cell runs", async () => {
    await run("open('/session/file', 'w').write('here')\nplanted = 1");
    expect(await run(WHATEVER_COMES, { timeout_s: 0.5 })).toMatchObject({
      status: "timeout",
      state: { variables: "lost", files: "kept" },
    });
    expect((await run("print('planted' in globals(), open('/session/file').read())")).stdout).toBe(
      "False here\n",
    );
  });

  it("ends a kernel that uses more memory than the session has", async () => {
    const hungry = "import js\nkept = []\nwhile True: kept.append(js.Uint8Array.new(1 << 24).fill(1))";
    expect(await run(hungry)).toMatchObject({ status: "died", error: { name: "OOM_KILLED" } });
    expect(await run("bytearray(1 << 30)")).toMatchObject({ error: { name: "MemoryError" } });
    expect((await run("print(1)")).stdout).toBe("1\n");
  });

  it("is bounded by a cgroup too, where the daemon may make one: what grows faster than anybody looks", async () => {
    const guest = (await listGuests(stack.home)).find(({ session: of }) => of === session)!;
    const cgroups = await Cgroups.open(stack.home);
    const own = readFileSync(`/proc/${guest.pid}/cgroup`, "utf8").includes(guest.box);
    expect(own).toBe(cgroups !== null);
    await cgroups?.bound(guest.box, 300 << 20);
    const hungry = "import os\nkept = b'x' * (300 << 20)\nopen('past', 'w').close()";
    if (cgroups) expect(await run(hungry)).toMatchObject({ status: "died", error: { name: "OOM_KILLED" } });
    expect((await run("import os\nprint(os.path.exists('past'))")).stdout).toBe("False\n");
    await cgroups?.bound(guest.box, boundOf({ memory_mb: 512, tmpfs_mb: 256 }));
  });

  it("has its contexts apart, and lists what is in them", async () => {
    await run("mine = 7");
    await client.ok("POST", `/v1/sessions/${session}/contexts`, { name: "other", language: "python" });
    expect(await run("mine", { context: "other" })).toMatchObject({ error: { name: "NameError" } });
    expect(await run("mine")).toMatchObject({ status: "ok", results: [{ "text/plain": "7" }] });
  });

  it("keeps an artifact", async () => {
    const { artifacts } = await run("open('/session/artifacts/a.txt', 'w').write('made')");
    expect(artifacts).toMatchObject([{ name: "a.txt", size: 4 }]);
  });

  it("goes on when the daemon is killed: the cell that runs ends once, and its variables are there", async () => {
    const key = { "idempotency-key": "killed-in-the-middle" };
    const code =
      "import time\nprint('begun')\ntime.sleep(3)\nopen('runs', 'a').write('x')\nafter = 5\nprint('done')";
    const { id } = await client.start(session, code);
    const same = () => client.run(session, "open('same', 'a').write('x')", {}, key);
    const first = same();
    await stack.killAgent();
    await stack.startAgent();
    expect(await client.finished(session, id)).toMatchObject({ status: "ok", stdout: "begun\ndone\n" });
    expect((await same()).id).toBe((await first).id);
    expect((await run("print(after, open('runs').read(), open('same').read())")).stdout).toBe("5 x x\n");
  });

  it("streams output as it comes, in order and without a gap, also to who comes late", async () => {
    const { id } = await client.start(
      session,
      "import time\nfor i in range(30):\n    print(i)\n    time.sleep(0.01)",
    );
    const { seqs, text } = await heard(id);
    expect(text).toBe(Array.from({ length: 30 }, (_, i) => `${i}\n`).join(""));
    expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! + i));
    expect((await heard(id)).text).toBe(text);
  });

  async function heard(id: string) {
    const seqs: number[] = [];
    let text = "";
    for await (const { id: seq, event, data } of client.events(
      `/v1/sessions/${session}/executions/${id}/events`,
    )) {
      seqs.push(Number(seq));
      if (event === "stdout") text += (data as { text: string }).text;
    }
    return { seqs, text };
  }

  it("is interrupted by the API, between two waits as within one", async () => {
    const { id } = await client.start(session, "import time\nheld = 1\nwhile True: time.sleep(30)");
    await eventually(
      "it runs",
      20_000,
      async () => (await client.execution(session, id)).status === "running",
    );
    await client.ok("POST", `/v1/sessions/${session}/executions/${id}/interrupt`);
    expect(await client.finished(session, id)).toMatchObject({
      status: "interrupted",
      state: { variables: "kept" },
    });
    expect((await run("print(held)")).stdout).toBe("1\n");
  });

  it("leaves neither processes nor folders when it has been idle for its time", async () => {
    const { id } = await client.create({ idle_ttl_s: 2 });
    await client.run(id, "1");
    const ended = async () => (await client.ok<Session>("GET", `/v1/sessions/${id}`)).status === "stopped";
    await eventually("the end", 30_000, ended);
    const left = async () => [await listGuests(stack.home), readdirSync(join(stack.home, "boxes"))];
    await eventually("nothing is left", 30_000, async () =>
      (await left()).every((things) => things.length === 1),
    );
  });

  it("refuses what it cannot do by name", async () => {
    for (const spec of [{ runtime: "bash" }, { volumes: [{ name: "kept", path: "/mnt/kept" }] }]) {
      const { status, body } = await client.problem("POST", "/v1/sessions", { engine: "wasm", ...spec });
      expect([status, body.code]).toEqual([422, "UNSUPPORTED_BY_ENGINE"]);
    }
    const { body } = await client.problem("POST", `/v1/sessions/${session}/processes`, { command: "ls" });
    expect(body.code).toBe("UNSUPPORTED_BY_ENGINE");
  });
});

describe("a warm pool in WebAssembly", () => {
  const { stack, client } = useStack({
    agentEnv: { SANDBAR_ENGINE: "wasm", SANDBAR_POOL: "python=1", SANDBAR_POOL_MAX: "1" },
  });

  it("gives a session a kernel that waited, also past a daemon that was killed, with what is the session's own", async () => {
    const ready = () =>
      eventually("a box is warm", 120_000, async () => {
        const { pool } = await client.ok<HostLoad>("GET", `/v1/hosts/${stack.hostId}/load`);
        return pool[0]?.ready === 1;
      });
    await ready();
    const [waiting] = await listGuests(stack.home);
    await stack.killAgent();
    await stack.startAgent();
    await ready();
    // Only who may mount can change what a box holds.
    const limits = process.getuid!() === 0 ? { limits: { tmpfs_mb: 16 } } : {};
    const { id } = await client.create({ env: { A: "b" }, ...limits });
    expect(await client.run(id, "import os\nprint('_' in globals(), os.environ['A'])")).toMatchObject({
      stdout: "False b\n",
      state: { variables: "kept" },
    });
    expect(isRunning(waiting!)).toBe(true);
    await client.stop(id);
    await eventually("its processes are gone", 30_000, () => !isRunning(waiting!));
  });
});
