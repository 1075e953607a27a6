import type { Process } from "@sandbar/shared";
import { beforeAll, describe, expect, it } from "vitest";
import type { SseEvent } from "../fixtures/client.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("processes outlive the request that started them", () => {
  const { stack, client } = useStack();
  let session: string;
  let path: string;

  beforeAll(async () => {
    session = (await client.create({ env: { FROM_SESSION: "yes" } })).id;
    path = `/v1/sessions/${session}/processes`;
  });

  const start = (request: Record<string, unknown>, headers?: Record<string, string>) =>
    client.ok<Process>("POST", path, request, headers);
  const get = (id: string) => client.ok<Process>("GET", `${path}/${id}`);
  const write = (id: string, data: string, eof = false) =>
    client.ok("POST", `${path}/${id}/stdin`, { data, eof });

  async function follow(id: string, lastEventId?: string, until?: (event: SseEvent) => boolean) {
    const events: SseEvent[] = [];
    const abort = new AbortController();
    try {
      for await (const event of client.events(`${path}/${id}/events`, {
        lastEventId,
        signal: abort.signal,
      })) {
        events.push(event);
        if (until?.(event)) break;
      }
    } finally {
      abort.abort();
    }
    return events;
  }
  const textOf = (events: SseEvent[], stream = "stdout") =>
    events
      .filter(({ event }) => event === stream)
      .map(({ data }) => data.text)
      .join("");

  it("describes what was started, and how it ended", async () => {
    const started = await start({ command: "echo out; echo err >&2; exit 3", cwd: "/tmp" });
    expect(started).toMatchObject({
      session_id: session,
      cwd: "/tmp",
      pty: null,
      status: "running",
      exit_code: null,
    });
    const events = await follow(started.id);
    expect(textOf(events)).toBe("out\n");
    expect(textOf(events, "stderr")).toBe("err\n");
    expect(events.filter(({ event }) => event === "exit")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      event: "exit",
      data: { exit_code: 3, signal: null, oom_killed: false },
    });
    expect(await get(started.id)).toMatchObject({
      status: "exited",
      exit_code: 3,
      finished_at: expect.any(String),
    });
  });

  it("gives the same output again from any sequence number, without an end seen twice", async () => {
    const { id } = await start({ command: "for i in 1 2 3 4 5; do echo line $i; sleep 0.05; done" });
    const all = await follow(id);
    expect(all.map((event) => Number(event.id))).toEqual(all.map((_, index) => index + 1));
    for (const [index, { id: seq }] of all.entries())
      expect(await follow(id, seq)).toEqual(all.slice(index + 1));
    const beyond = { "last-event-id": String(all.length + 1) };
    const answer = await client.problem("GET", `${path}/${id}/events`, undefined, beyond);
    expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_FAILED"]);
  });

  it("streams while it runs, and reads what is written to it", async () => {
    const { id } = await start({ command: 'while read -r line; do echo "got $line"; done; echo bye' });
    await write(id, "one\n");
    const first = await follow(id, undefined, ({ data }) => data.text === "got one\n");
    expect(textOf(first)).toBe("got one\n");
    const raw = await client.call("POST", `${path}/${id}/stdin?eof=true`, "zwei ü\n", {
      "content-type": "text/plain",
    });
    expect(raw.status).toBe(204);
    expect(textOf(await follow(id, first.at(-1)!.id))).toBe("got zwei ü\nbye\n");
    const late = await client.problem("POST", `${path}/${id}/stdin`, { data: "x" });
    expect([late.status, late.body.code]).toEqual([409, "PROCESS_ENDED"]);
  });

  it("takes an argv that no shell sees, and the environment of the session and of the request", async () => {
    const { id, command } = await start({
      argv: [
        "python3",
        "-c",
        "import os, sys; print(sys.argv[1:], os.environ['FROM_SESSION'], os.environ['OWN'])",
        "$HOME *",
      ],
      env: { OWN: "1" },
    });
    expect(command).toContain("'$HOME *'");
    expect(textOf(await follow(id))).toBe("['$HOME *'] yes 1\n");
  });

  it("signals the whole group, and names the signal that ended it", async () => {
    const { id } = await start({ command: "sleep 1000 & echo up; wait" });
    await follow(id, undefined, ({ data }) => data.text === "up\n");
    await client.ok("POST", `${path}/${id}/signal`, { signal: "SIGTERM" });
    expect((await follow(id)).at(-1)).toMatchObject({
      event: "exit",
      data: { exit_code: null, signal: "SIGTERM" },
    });
    expect(
      (
        await client.run(
          session,
          "import subprocess; subprocess.run(['pgrep', '-f', 'sleep 1000']).returncode",
        )
      ).text,
    ).toBe("1");
  });

  it("lets code handle a signal", async () => {
    const { id } = await start({
      command: "trap 'echo caught; exit 9' USR1; echo up; while :; do sleep 0.05; done",
    });
    await follow(id, undefined, ({ data }) => data.text === "up\n");
    await client.ok("POST", `${path}/${id}/signal`, { signal: "USR1" });
    const events = await follow(id);
    expect(textOf(events)).toBe("up\ncaught\n");
    expect(events.at(-1)!.data.exit_code).toBe(9);
  });

  it("lists processes until they are deleted, and deleting ends everything they started", async () => {
    const { id } = await start({ command: "setsid sleep 2000 & sleep 2000" });
    await eventually("both sleep", 5000, async () => {
      const { text } = await client.run(
        session,
        "import subprocess; len(subprocess.run(['pgrep', '-f', '^sleep 2000'], capture_output=True, text=True).stdout.split())",
      );
      return text === "2";
    });
    const listed = await client.ok<{ data: Process[] }>("GET", path);
    expect(listed.data.find((process) => process.id === id)).toMatchObject({ status: "running" });
    expect((await client.call("DELETE", `${path}/${id}`)).status).toBe(204);
    expect((await client.call("DELETE", `${path}/${id}`)).status).toBe(204);
    expect((await client.problem("GET", `${path}/${id}`)).body.code).toBe("NOT_FOUND");
    await eventually("nothing of it is left", 5000, async () => {
      const { text } = await client.run(
        session,
        "import subprocess; subprocess.run(['pgrep', '-f', '^sleep 2000']).returncode",
      );
      return text === "1";
    });
  });

  it("survives a cell that is killed, a context that restarts, and outlives neither by accident", async () => {
    const { id } = await start({ command: "sleep 300" });
    await client.run(session, "import os; os._exit(1)");
    expect((await client.run(session, "1 + 1")).text).toBe("2");
    expect((await get(id)).status).toBe("running");
    await client.ok("DELETE", `${path}/${id}`);
    expect((await client.run(session, "2 + 2")).text).toBe("4");
  });

  it("is started once for one Idempotency-Key", async () => {
    const headers = { "idempotency-key": "start-once" };
    const request = { command: "echo x >> /tmp/once; cat /tmp/once" };
    const starts = await Promise.all([1, 2, 3].map(() => start(request, headers)));
    expect(new Set(starts.map(({ id }) => id)).size).toBe(1);
    expect(textOf(await follow(starts[0]!.id))).toBe("x\n");
    const other = await client.problem("POST", path, { command: "true" }, headers);
    expect([other.status, other.body.code]).toEqual([409, "IDEMPOTENCY_CONFLICT"]);
    // Not even when it has been deleted.
    await client.call("DELETE", `${path}/${starts[0]!.id}`);
    const again = await client.problem("POST", path, request, headers);
    expect([again.status, again.body.code]).toEqual([410, "PROCESS_GONE"]);
    const { id } = await start({ command: "cat /tmp/once" });
    expect(textOf(await follow(id))).toBe("x\n");
  });

  it("refuses what cannot be started, and says why", async () => {
    const refused = async (request: unknown) => {
      const { status, body } = await client.problem("POST", path, request);
      return [status, body.code, body.detail];
    };
    expect(await refused({ command: "true", cwd: "/nowhere" })).toEqual([
      400,
      "VALIDATION_FAILED",
      "cwd: No such file or directory",
    ]);
    expect(await refused({ argv: ["no-such-program"] })).toEqual([
      400,
      "VALIDATION_FAILED",
      "no-such-program: No such file or directory",
    ]);
    expect(await refused({})).toEqual([400, "VALIDATION_FAILED", "command: give either command or argv"]);
    expect((await refused({ command: "a\0b" }))[0]).toBe(400);
    expect((await refused({ command: "true", pty: { cols: 0, rows: 1 } }))[0]).toBe(400);
    const { id } = await start({ command: "sleep 60" });
    const bad = await client.problem("POST", `${path}/${id}/signal`, { signal: "SIGNONSENSE" });
    expect([bad.status, bad.body.code]).toEqual([400, "VALIDATION_FAILED"]);
    const noTerminal = await client.problem("POST", `${path}/${id}/resize`, { cols: 80, rows: 24 });
    expect([noTerminal.status, noTerminal.body.code]).toEqual([409, "NOT_A_TERMINAL"]);
    const both = await client.problem("POST", `${path}/${id}/stdin`, { data: "a", data_b64: "Yg==" });
    expect([both.status, both.body.detail]).toEqual([400, "data_b64: give either data or data_b64"]);
    await client.ok("DELETE", `${path}/${id}`);
  });

  it("has a terminal when asked: a size, colours, and Ctrl-C for the foreground job", async () => {
    const { id, pty } = await start({
      command: "exec bash --norc -i",
      pty: { cols: 101, rows: 37 },
      env: { PS1: "> " },
    });
    expect(pty).toEqual({ cols: 101, rows: 37 });
    await write(id, "stty size; tput colors; test -t 1 && echo is-a-tty\n");
    const shows = (text: string) => {
      let seen = "";
      return ({ data }: SseEvent) => {
        seen += data.text ?? "";
        return seen.includes(text);
      };
    };
    const opened = textOf(await follow(id, undefined, shows("\nis-a-tty")));
    expect(opened).toContain("37 101");
    expect(opened).toContain("256");
    await client.ok("POST", `${path}/${id}/resize`, { cols: 60, rows: 20 });
    await write(id, "stty size; printf '\\033[31mred\\033[0m\\n'; sleep 500\n");
    expect(textOf(await follow(id, undefined, shows("\x1b[31mred\x1b[0m")))).toContain("20 60");
    await write(id, "\x03");
    await write(id, "echo status $?\n");
    await follow(id, undefined, shows("status 130"));
    await client.ok("POST", `${path}/${id}/stdin`, { eof: true });
    expect((await follow(id)).at(-1)!.event).toBe("exit");
  });

  it("ends a terminal's input also within a line", async () => {
    const { id } = await start({ command: "cat >/dev/null; echo ended", pty: { cols: 80, rows: 24 } });
    await write(id, "half a line", true);
    expect(textOf(await follow(id))).toContain("ended");
  });

  it("keeps characters whole and never breaks on bytes that are none", async () => {
    const { id } = await start({
      argv: [
        "python3",
        "-c",
        "import sys, time\nfor b in 'grün 🐟'.encode(): sys.stdout.buffer.write(bytes([b])); sys.stdout.flush(); time.sleep(0.01)\nsys.stdout.buffer.write(b'\\xff\\xfe end')",
      ],
    });
    expect(textOf(await follow(id))).toBe("grün 🐟\ufffd\ufffd end");
  });

  it("belongs to its tenant alone", async () => {
    const { id } = await start({ command: "sleep 60" });
    const other = await stack.clientOf("other");
    for (const [method, at] of [
      ["GET", ""],
      ["POST", ""],
      ["GET", `/${id}`],
      ["GET", `/${id}/events`],
      ["DELETE", `/${id}`],
    ] as const) {
      const { status, body } = await other.problem(
        method,
        path + at,
        method === "POST" ? { command: "true" } : undefined,
      );
      expect([method, at, status, body.code]).toEqual([method, at, 404, "NOT_FOUND"]);
    }
    expect((await get(id)).status).toBe("running");
    await client.ok("DELETE", `${path}/${id}`);
  });

  it("says that it ended with its session", async () => {
    const { id } = await start({ command: "echo up; sleep 60" });
    let stopped: Promise<unknown> | undefined;
    const events = await follow(id, undefined, ({ event }) => {
      if (event === "stdout") stopped ??= client.stop(session);
      return event === "exit";
    });
    await stopped;
    expect(events.at(-1)!.data).toMatchObject({ exit_code: null, reason: "SESSION_ENDED" });
  });
});
