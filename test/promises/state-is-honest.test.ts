import type { Context } from "@sandbar/shared";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("promise 5: every ending says what survived", () => {
  const { stack, client } = useStack();
  let session: string;

  beforeAll(async () => {
    session = (await client.create({ limits: { memory_mb: 256, tmpfs_mb: 32 } })).id;
  });

  async function plant(): Promise<void> {
    await client.run(session, "planted = 1\nopen('/session/file', 'w').write('here')");
  }
  async function survivors(): Promise<string> {
    const { stdout } = await client.run(
      session,
      "print('planted' in globals(), __import__('os').path.exists('/session/file'))",
    );
    return stdout.trim();
  }

  const deaths: [string, string, string, RegExp][] = [
    ["a segmentation fault", "import ctypes; ctypes.string_at(0)", "KERNEL_DIED", /SIGSEGV|segmentation/i],
    ["os._exit", "import os; os._exit(3)", "KERNEL_DIED", /3/],
    ["SIGKILL to itself", "import os; os.kill(os.getpid(), 9)", "KERNEL_DIED", /SIGKILL|killed/i],
    ["memory beyond the limit", "x = bytearray(1 << 30)", "OOM_KILLED", /memory/i],
  ];
  for (const [what, code, name, value] of deaths)
    it(`${what}: ${name}, files kept, variables lost, the next cell runs`, async () => {
      await plant();
      const execution = await client.run(session, `print('before', flush=True)\n${code}`);
      expect(execution).toMatchObject({
        status: "died",
        stdout: "before\n",
        error: { name },
        state: { variables: "lost", files: "kept" },
      });
      expect(execution.error!.value).toMatch(value);
      expect(await survivors()).toBe("False True");
    });

  it("a timeout that yields to the interrupt keeps the variables", async () => {
    await plant();
    const execution = await client.run(session, "while True: pass", { timeout_s: 0.5 });
    expect(execution).toMatchObject({
      status: "timeout",
      error: { name: "EXECUTION_TIMEOUT" },
      state: { variables: "kept", files: "kept" },
    });
    expect(await survivors()).toBe("True True");
  });

  for (const [what, code] of [
    [
      "swallows the interrupt",
      "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ],
    ["ignores SIGINT", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"],
    ["stops itself", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"],
  ] as const)
    it(`code that ${what} is killed after its timeout, and the answer says so`, async () => {
      await plant();
      const execution = await client.run(session, code, { timeout_s: 0.5 });
      expect(execution).toMatchObject({
        status: "timeout",
        error: { name: "EXECUTION_TIMEOUT" },
        state: { variables: "lost", files: "kept" },
      });
      expect(await survivors()).toBe("False True");
    });

  it("an interrupt by the caller ends the cell and keeps the variables", async () => {
    await plant();
    const started = await client.start(session, "import time\nprint('go', flush=True)\ntime.sleep(60)");
    await eventually(
      "it runs",
      5000,
      async () => (await client.execution(session, started.id)).stdout === "go\n",
    );
    const { status } = await client.call(
      "POST",
      `/v1/sessions/${session}/executions/${started.id}/interrupt`,
    );
    expect(status).toBe(202);
    expect(await client.finished(session, started.id)).toMatchObject({
      status: "interrupted",
      state: { variables: "kept", files: "kept" },
    });
    expect(await survivors()).toBe("True True");
  });

  describe("a kernel that ends while no code runs", () => {
    const AT_ONCE = "import threading, os; threading.Timer(0.05, os._exit, (3,)).start()";

    type Loss = { context: string; reason: string; at: string };

    /** The first that the session's events tell. */
    async function firstLoss(id: string): Promise<Loss | null> {
      const signal = AbortSignal.timeout(20_000);
      for await (const { event, data } of client.events(`/v1/sessions/${id}/events`, { signal }))
        if (event === "context.lost") return data;
      return null;
    }
    /** All of them: nothing more is said once the session has ended. */
    async function allLosses(id: string): Promise<Loss[]> {
      await client.stop(id);
      const all = [];
      for await (const { event, data } of client.events(`/v1/sessions/${id}/events`))
        if (event === "context.lost") all.push(data);
      return all;
    }

    const ways: [string, { code: string; language?: string }, RegExp][] = [
      ["a thread that outlives its cell", { code: AT_ONCE }, /exit code 3/],
      ["kill -9 -1 in another context", { code: "kill -9 -1", language: "bash" }, /SIGKILL/],
      [
        "another context that uses up the memory",
        { code: "python3 -c 'x = bytearray(1 << 30)'", language: "bash" },
        /memory/,
      ],
    ];
    for (const [what, { code, language }, reason] of ways)
      it(`${what}: an event says so at once, and the next cell that its variables are gone`, async () => {
        const { id } = await client.create({ limits: { memory_mb: 256, tmpfs_mb: 32 } });
        await client.run(id, "planted = b'1' * (120 << 20)");
        await client.run(id, code, { ...(language && { language }) });
        const loss = await firstLoss(id);
        expect(loss).toMatchObject({ context: "python", reason: expect.stringMatching(reason) });
        const { data } = await client.ok<{ data: Context[] }>("GET", `/v1/sessions/${id}/contexts`);
        expect(data.find(({ name }) => name === "python")?.lost).toMatchObject({ reason: loss!.reason });
        const next = await client.run(id, "print('planted' in globals())");
        expect(next).toMatchObject({
          status: "ok",
          stdout: "False\n",
          state: { variables: "lost", files: "kept", reason: loss!.reason },
        });
        expect((await client.run(id, "1")).state).toEqual({ variables: "kept", files: "kept" });
        expect(await allLosses(id)).toEqual([loss]);
      });

    it("is told once by a daemon that was killed meanwhile, whether it had heard of it or not", async () => {
      const { id } = await client.create();
      const container = await stack.containerOf(id);
      const kernel = async () =>
        ((await container.top()).Processes as string[][]).find((row) =>
          /python\/main\.py/.test(row.join(" ")),
        )?.[1];
      await client.run(id, AT_ONCE);
      expect(await firstLoss(id)).not.toBeNull();
      await stack.killAgent();
      await stack.startAgent();
      expect((await client.run(id, "1")).state).toMatchObject({
        variables: "lost",
        reason: expect.stringMatching(/exit code 3/),
      });
      const before = await kernel();
      await client.run(id, AT_ONCE.replace("0.05", "2"));
      await stack.killAgent();
      await eventually("another kernel", 10_000, async () => ![undefined, before].includes(await kernel()));
      await stack.startAgent();
      expect((await client.run(id, "1")).state).toMatchObject({
        variables: "lost",
        reason: expect.stringMatching(/exit code 3/),
      });
      expect((await client.run(id, "1")).state).toEqual({ variables: "kept", files: "kept" });
      expect(await allLosses(id)).toHaveLength(2);
    });

    it("is not said of kernels that nobody used, of restarts that were asked for, or of bash's successors", async () => {
      const { id } = await client.create();
      const inBash = (code: string) => client.run(id, code, { language: "bash" });
      const kept = { variables: "kept", files: "kept" };
      // Until the guest has seen it die: a kernel that is dying already could still be given the next cell.
      const died = 'while [ -e "${unused%/cmdline}" ]; do sleep 0.01; done';
      const ended = await inBash(
        `kept=1; unused=$(grep -l 'kernels/pytho[n]/main' /proc/[0-9]*/cmdline); echo "$unused"; kill -9 -1; ${died}`,
      );
      expect(ended.stdout).toMatch(/^\/proc\/\d+\/cmdline\n$/);
      expect((await client.run(id, "1")).state).toEqual(kept);
      await client.ok("POST", `/v1/sessions/${id}/contexts/python/restart`);
      expect((await client.run(id, "1")).state).toEqual(kept);
      await inBash("exit 3");
      expect(await inBash("echo $kept")).toMatchObject({ stdout: "1\n", state: kept });
      expect(await allLosses(id)).toEqual([]);
    });
  });

  it("the container's death ends the session with CONTAINER_DIED, and its key is free again", async () => {
    const { id } = await client.create({ key: "mortal" });
    const started = await client.start(id, "import time; print('go', flush=True); time.sleep(60)");
    await eventually("it runs", 5000, async () => (await client.execution(id, started.id)).stdout === "go\n");
    await (await stack.containerOf(id)).kill();
    const execution = await client.finished(id, started.id);
    expect(execution).toMatchObject({
      status: "died",
      error: { name: "CONTAINER_DIED" },
      state: { variables: "lost", files: "lost" },
    });
    await eventually("the session says so", 5000, async () => {
      const session = await client.ok<{ status: string; error?: { code: string } }>(
        "GET",
        `/v1/sessions/${id}`,
      );
      return session.status === "failed" && session.error?.code === "CONTAINER_DIED";
    });
    const again = await client.create({ key: "mortal" });
    expect(again.id).not.toBe(id);
    expect((await client.run(again.id, "1")).text).toBe("1");
  });
});
