import { beforeAll, describe, expect, it } from "vitest";
import { useStack } from "../fixtures/use-stack.ts";

describe("one cell, from curl to the kernel and back", () => {
  const { client } = useStack();
  let session: string;

  beforeAll(async () => {
    session = (await client.create({ key: "spine", labels: { team: "a" } })).id;
  });

  it("answers the whole Execution", async () => {
    const execution = await client.run(
      session,
      "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7",
    );
    expect(execution).toMatchObject({
      session_id: session,
      context: "python",
      language: "python",
      status: "ok",
      stdout: "out\n",
      stderr: "err\n",
      text: "42",
      results: [{ "text/plain": "42" }],
      error: null,
      truncated: {},
      artifacts: [],
      artifacts_skipped: [],
      state: { variables: "kept", files: "kept" },
    });
    for (const at of [execution.queued_at, execution.started_at, execution.finished_at])
      expect(at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(execution.duration_ms).toBeGreaterThanOrEqual(0);
  });

  it("cuts an error that is too long, and says how long it was", async () => {
    const { status, error, truncated, state } = await client.run(
      session,
      "raise ValueError('é' * 3_000_000)",
    );
    expect([status, error!.value.length, state.variables]).toEqual(["error", 8000, "kept"]);
    expect(truncated).toEqual({ error: 3_000_000, traceback: expect.any(Number) });
    expect(truncated.traceback).toBeGreaterThan(3_000_000);
  });

  it("keeps variables, imports, cwd and environment between cells", async () => {
    await client.run(session, "import math, os\nx = math.pi\nos.chdir('/tmp')\nos.environ['MARK'] = 'here'");
    const execution = await client.run(
      session,
      "print(round(x, 2), math.floor(x), os.getcwd(), os.environ['MARK'])",
    );
    expect(execution.stdout).toBe("3.14 3 /tmp here\n");
  });

  it("reports an exception with its traceback and keeps the variables", async () => {
    const execution = await client.run(session, "y = 1\n1 / 0");
    expect(execution.status).toBe("error");
    expect(execution.error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
    expect(execution.error!.traceback).toContain("1 / 0");
    expect(execution.state).toEqual({ variables: "kept", files: "kept" });
    expect((await client.run(session, "y")).text).toBe("1");
  });

  it("captures what C code and child processes write, once and in order", async () => {
    const execution = await client.run(
      session,
      "import os, subprocess\nprint('a', flush=True)\nos.write(1, b'b\\n')\nsubprocess.run(['echo', 'c'])\nos.system('echo d >&2')\nprint('e')",
    );
    expect(execution.stdout).toBe("a\nb\nc\ne\n");
    expect(execution.stderr).toBe("d\n");
  });

  it("answers rich results in order, matplotlib figures as PNG", async () => {
    const execution = await client.run(
      session,
      "import pandas as pd, matplotlib.pyplot as plt\nfrom IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))\nplt.plot([1, 2]); plt.show()\npd.DataFrame({'a': [1]})",
      { timeout_s: 60 },
    );
    expect(execution.status).toBe("ok");
    expect(execution.results.map((bundle) => Object.keys(bundle).sort())).toEqual([
      ["text/html", "text/plain"],
      expect.arrayContaining(["image/png"]),
      expect.arrayContaining(["text/html", "text/plain"]),
    ]);
    const png = Buffer.from(String(execution.results[1]!["image/png"]), "base64");
    expect(png.subarray(1, 4).toString()).toBe("PNG");
  });

  it("awaits at the top level, and a coroutine that was left over", async () => {
    const execution = await client.run(
      session,
      "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 'awaited'\nawait f()\nf()",
    );
    expect(execution.text).toBe("'awaited'");
  });

  it("streams events while the code runs, `finished` last and once", async () => {
    const events = [];
    const code =
      "import os, time\nprint(0)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)\nprint(1)\nprint(2)\n'end'";
    for await (const event of client.events(`/v1/sessions/${session}/executions`, {
      method: "POST",
      body: { code },
    })) {
      // The code goes on only when its first output is here.
      if (event.event === "stdout") await client.run(session, "touch /tmp/go", { language: "bash" });
      events.push(event);
    }
    expect(events[0]!.event).toBe("started");
    expect(
      events
        .filter((event) => event.event === "stdout")
        .map((event) => event.data.text)
        .join(""),
    ).toBe("0\n1\n2\n");
    expect(events.find((event) => event.event === "result")!.data["text/plain"]).toBe("'end'");
    expect(events.filter((event) => event.event === "finished")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ event: "finished", data: { status: "ok", text: "'end'" } });
    expect(events.map((event) => Number(event.id))).toEqual(events.map((_, index) => index + 1));
  });

  it("reads stdin when given some, and fails fast without", async () => {
    expect((await client.run(session, "input()", { stdin: "hello\n" })).text).toBe("'hello'");
    const execution = await client.run(session, "input('? ')");
    expect(execution.status).toBe("error");
  });

  it("sets env for one execution only", async () => {
    expect((await client.run(session, "os.environ['ONCE']", { env: { ONCE: "1" } })).text).toBe("'1'");
    expect((await client.run(session, "os.environ.get('ONCE')")).text).toBeNull();
  });

  it("lists sessions and executions", async () => {
    const { data } = await client.ok<{ data: { id: string; status: string }[] }>(
      "GET",
      "/v1/sessions?key=spine",
    );
    expect(data).toMatchObject([{ id: session }]);
    const page = await client.ok<{ data: { id: string }[]; next_cursor: string | null }>(
      "GET",
      `/v1/sessions/${session}/executions?limit=2`,
    );
    expect(page.data).toHaveLength(2);
    expect(page.next_cursor).not.toBeNull();
  });

  it("says what variables there are", async () => {
    const state = await client.ok<{ variables: { name: string; type: string }[]; cwd: string }>(
      "GET",
      `/v1/sessions/${session}/state`,
    );
    expect(state.variables).toContainEqual(expect.objectContaining({ name: "x", type: "float" }));
    expect(state.cwd).toBe("/tmp");
  });

  it("stops, and then says that it has ended", async () => {
    const other = await client.create({});
    expect((await client.stop(other.id)).status).toBe(204);
    expect((await client.stop(other.id)).status).toBe(204);
    const { status, body } = await client.problem("POST", `/v1/sessions/${other.id}/executions`, {
      code: "1",
    });
    expect([status, body.code]).toEqual([410, "SESSION_ENDED"]);
    expect((await client.ok<{ status: string }>("GET", `/v1/sessions/${other.id}`)).status).toBe("stopped");
  });
});
