import { Sandbar, SandbarError } from "@sandbar/sdk";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { TcpProxy } from "../fixtures/tcp-proxy.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("the TypeScript client on the real product", () => {
  const { stack } = useStack();
  let client: Sandbar;

  beforeAll(async () => {
    client = new Sandbar({ url: stack.url, apiKey: stack.key });
  });

  it("a key finds the same session again, with its variables", async () => {
    const session = await client.session({ key: "thread-1", runtime: "python" });
    await session.run("x = 41");
    const again = await client.session({ key: "thread-1", runtime: "python" });
    expect(again.id).toBe(session.id);
    expect((await again.run("x + 1")).text).toBe("42");
    expect((await client.findSession("thread-1"))?.id).toBe(session.id);
    expect(await client.findSession("nobody")).toBeNull();
  });

  it("await using stops the session", async () => {
    let id = "";
    {
      await using session = await client.session();
      id = session.id;
      expect((await session.run("print('hi')")).ok().stdout).toBe("hi\n");
    }
    const ended = await client.getSession(id);
    expect(["stopping", "stopped"]).toContain(ended.info.status);
    await expect(ended.run("1")).rejects.toMatchObject({
      code: "SESSION_ENDED",
      status: 410,
      retryable: false,
    });
  });

  it("tells what sessions use", async () => {
    await using session = await client.session();
    const { data, limits } = await session.metrics();
    expect(data.at(-1)!.memory_bytes).toBeGreaterThan(0);
    expect(limits.memory_bytes).toBeGreaterThan(data.at(-1)!.memory_bytes);
    const all = await client.sessionMetrics();
    expect(all.data.map((item) => item.session)).toContain(session.id);
  });

  it("errors of the code are answers; ok() throws them", async () => {
    await using session = await client.session();
    const execution = await session.run("1 / 0");
    expect(execution).toMatchObject({
      status: "error",
      error: { name: "ZeroDivisionError" },
      succeeded: false,
    });
    expect(() => execution.ok()).toThrow("ZeroDivisionError: division by zero (variables kept, files kept)");
    expect(await session.run("while True: pass", { timeoutS: 0.5 })).toMatchObject({ status: "timeout" });
  });

  it("streams output while the code runs", async () => {
    await using session = await client.session();
    const types: string[] = [];
    let text = "";
    const code =
      "import sys, time\nfor i in range(3):\n    print(i, flush=True); time.sleep(0.1)\nprint('e', file=sys.stderr)\n'end'";
    for await (const event of session.stream(code)) {
      if (types.at(-1) !== event.type) types.push(event.type);
      if (event.type === "stdout") text += event.text;
      if (event.type === "finished") expect(event.execution.text).toBe("'end'");
    }
    expect(types).toEqual(["started", "stdout", "stderr", "result", "finished"]);
    expect(text).toBe("0\n1\n2\n");
    const seen: string[] = [];
    await session.run("print('live')", { onStdout: (chunk) => seen.push(chunk) });
    expect(seen.join("")).toBe("live\n");
  });

  it("a network that is cut again and again costs no output and runs the code once", async () => {
    const proxy = new TcpProxy();
    await proxy.open(stack.url);
    try {
      const flaky = new Sandbar({ url: proxy.url, apiKey: stack.key, retry: { baseMs: 10, maxMs: 50 } });
      const session = await flaky.session({ key: "flaky" });
      await session.run("runs = 0");
      const cutting = setInterval(() => {
        proxy.cut();
        setTimeout(() => proxy.mend(), 30);
      }, 200);
      let text = "";
      const execution = await session.run(
        "import time\nruns += 1\nfor i in range(30):\n    print(i, flush=True); time.sleep(0.05)\nruns",
        { onStdout: (chunk) => (text += chunk) },
      );
      clearInterval(cutting);
      proxy.mend();
      expect(text).toBe(Array.from({ length: 30 }, (_, i) => `${i}\n`).join(""));
      expect(execution.text).toBe("1");
      await session.stop();
    } finally {
      await proxy.close();
    }
  });

  it("an abort interrupts the code on the server and keeps the variables", async () => {
    await using session = await client.session();
    await session.run("kept = 1");
    const abort = new AbortController();
    const run = session.run("import time\nprint('go', flush=True)\ntime.sleep(60)", {
      signal: abort.signal,
      onStdout: () => abort.abort(),
    });
    const error = await run.then(
      () => null,
      (reason) => reason,
    );
    expect(error).toMatchObject({ name: "AbortError", interrupted: true });
    expect((await session.run("kept")).text).toBe("1");
    expect(await session.execution(error.executionId)).toMatchObject({ status: "interrupted" });
  });

  it("the shell keeps its directory, and its exit code is told", async () => {
    await using session = await client.session();
    await session.sh("mkdir -p /session/deep && cd /session/deep && export WHO=me");
    expect((await session.sh("pwd; echo $WHO")).stdout).toBe("/session/deep\nme\n");
    expect((await session.sh("exit 3")).exit_code).toBe(3);
  });

  it("contexts have variables of their own", async () => {
    await using session = await client.session();
    await session.contexts.create("other", "python");
    await session.run("x = 1");
    expect(await session.run("x", { context: "other" })).toMatchObject({ status: "error" });
    expect((await session.contexts.list()).map(({ name }) => name)).toContain("other");
    await session.run("y = 2", { context: "other" });
    await session.contexts.restart("other");
    expect(await session.run("y", { context: "other" })).toMatchObject({ status: "error" });
    await session.contexts.remove("other");
    expect((await session.contexts.list()).map(({ name }) => name)).not.toContain("other");
  });

  it("tells the state of a context", async () => {
    await using session = await client.session();
    await session.run("import json\nnumber = 7\nname = 'Ada'");
    const state = await session.state();
    expect(state.variables).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: "number", type: "int", repr: "7" })]),
    );
    expect(state.imports.join()).toContain("json");
    expect(state.cwd).toBe("/session");
  });

  it("completes code, and is busy while code runs", async () => {
    await using session = await client.session();
    await session.run("number = 7");
    const code = "'😀', numb + 1";
    const found = await session.complete(code, { cursor: code.indexOf(" +") });
    expect(found).toMatchObject({ matches: [{ text: "number", type: "instance" }], busy: false });
    expect(code.slice(found.start, found.end)).toBe("numb");
    // There is no kernel for either, and none is made.
    for (const context of ["bash", "nowhere"])
      expect(await session.complete("ech", { context })).toEqual({
        matches: [],
        start: 3,
        end: 3,
        busy: false,
      });
    expect((await session.contexts.list()).map(({ name }) => name)).toEqual(["python"]);

    const before = await session.refresh();
    const stream = session.stream("import time\nprint('runs', flush=True)\ntime.sleep(60)");
    for await (const event of stream) if (event.type === "stdout") break;
    expect(await session.complete("numb")).toMatchObject({ matches: [], busy: true });
    const [running] = (await session.executions().page()).data;
    await session.interrupt(running!.id);
    await vi.waitFor(async () => expect((await session.complete("numb")).busy).toBe(false), 20_000);
    expect(Date.parse((await session.refresh()).last_used_at)).toBeGreaterThan(
      Date.parse(before.last_used_at),
    );

    for (const refused of [
      () => session.complete("x", { cursor: 2 }),
      () => session.complete("x", { cursor: -1 }),
      () => session.complete("x".repeat(100_001)),
    ])
      await expect(refused()).rejects.toMatchObject({ code: "VALIDATION_FAILED", status: 400 });
  });

  it("passes stdin and env", async () => {
    await using session = await client.session();
    const execution = await session.run("import os\nprint(input(), os.environ['WHO'])", {
      stdin: "line\n",
      env: { WHO: "me" },
    });
    expect(execution.stdout).toBe("line me\n");
  });

  it("starts code, lets it go, and follows it later", async () => {
    await using session = await client.session();
    const { id, status } = await session.start(
      "import time\nfor i in range(3): print(i, flush=True); time.sleep(0.1)",
    );
    expect(["queued", "running"]).toContain(status);
    expect((await session.follow(id).finished()).stdout).toBe("0\n1\n2\n");
    const [newest] = await session.executions().all();
    expect(newest?.id).toBe(id);
  });

  it("refusals name the field and the hint", async () => {
    const error = await client.session({ limits: { memory_mb: 1 } }).catch((reason) => reason);
    expect(error).toBeInstanceOf(SandbarError);
    expect(error).toMatchObject({ code: "VALIDATION_FAILED", status: 400, retryable: false });
    expect(error.errors[0].path).toContain("memory_mb");
    const stranger = new Sandbar({ url: stack.url, apiKey: "wrong" });
    await expect(stranger.session()).rejects.toMatchObject({ code: "UNAUTHENTICATED", status: 401 });
    const nobody = new Sandbar({ url: "http://127.0.0.1:9", apiKey: "", retry: { baseMs: 1 } });
    await expect(nobody.session()).rejects.toMatchObject({ code: "NETWORK_ERROR", retryable: true });
  });

  it("a token is one session for somebody else, with the verbs that it was made with", async () => {
    await using session = await client.session();
    await session.run("x = 20");
    const made = await session.createToken({ verbs: ["run", "read"], ttlS: 600, label: "friend" });
    expect(await session.tokens().all()).toMatchObject([{ id: made.id, label: "friend" }]);
    const friend = new Sandbar({ url: stack.url, apiKey: made.token });
    const own = await friend.attach();
    expect(own.id).toBe(session.id);
    expect((await own.run("x * 2", { onStdout: () => {} })).text).toBe("40");
    const kept = await own.run("open('/session/artifacts/a.txt', 'w').write('hi');");
    expect(await friend.artifacts.readText(kept.artifacts[0]!)).toBe("hi");
    for (const refused of [
      () => own.files.readText("/session/a"),
      () => own.terminal(),
      () => own.stop(),
      () => own.createToken({ verbs: ["run"] }),
      () => friend.session(),
    ])
      await expect(refused()).rejects.toMatchObject({ code: "FORBIDDEN_BY_TOKEN", status: 403 });
    await expect(client.attach()).rejects.toMatchObject({ code: "NOT_A_TOKEN" });
    await session.removeToken(made.id);
    await expect(own.run("1")).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  it("shows operators hosts, keys and usage", async () => {
    expect(await client.hosts.list().all()).toMatchObject([{ id: stack.hostId, status: "online" }]);
    const key = await client.keys.create({ name: "agent", tenant: "other", scopes: ["agent"] });
    const other = new Sandbar({ url: stack.url, apiKey: key.secret });
    expect(await other.sessions().all()).toEqual([]);
    await expect(other.hosts.list().all()).rejects.toMatchObject({ code: "FORBIDDEN" });
    await client.keys.remove(key.id);
    expect((await client.keys.list().all()).map(({ id }) => id)).not.toContain(key.id);
    expect(await client.usage()).toMatchObject({ executions: expect.any(Number) });
    expect(await client.health()).toEqual({ status: "ok" });
    expect((await client.hosts.enroll()).token).toBeTruthy();
    await client.hosts.cordon(stack.hostId);
    expect((await client.hosts.get(stack.hostId)).cordoned).toBe(true);
    await client.hosts.uncordon(stack.hostId);
  });
});
