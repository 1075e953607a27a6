import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Hello, Sandbox, sleep } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start();
  await box.run("1");
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

/** What a daemon does after `hello`: asks for the rest of everything that the guest knows. */
function replayAll(): void {
  for (const { execution } of box.hellos.at(-1)!.executions) {
    box.send({ type: "replay", execution, seq: box.eventsOf(execution).length });
  }
}

/** A daemon takes the place of one that has gone. */
async function listenAgain(): Promise<Hello> {
  const before = box.hellos.length;
  await box.listen();
  await box.until(() => box.hellos.length > before);
  return box.hellos.at(-1)!;
}

/** Characters of output that have come. */
const received = (execution: string) =>
  box.eventsOf(execution).reduce((sum, e) => sum + (e.type === "stdout" ? e.text.length : 0), 0);

/** As much has come as the guest keeps unacknowledged, and for a while nothing more. */
async function heldBack(execution: string): Promise<number> {
  await box.until(() => received(execution) > 15 * 1024 * 1024, undefined, "15 MiB");
  for (let before = -1; before !== received(execution); await sleep(500)) before = received(execution);
  return received(execution);
}

describe("the connection to the daemon", () => {
  it("opens without a token once, and with it ever after", async () => {
    expect(box.hellos[0]).toMatchObject({
      v: 1,
      contexts: [],
      executions: [],
      languages: expect.arrayContaining(["python", "bash"]),
    });
    expect(box.hellos[0]?.token).toBeUndefined();
    await box.vanish();
    expect(await listenAgain()).toMatchObject({
      token: box.token,
      contexts: [{ context: "python", language: "python", state: "ready" }],
    });
    expect((await box.run("2")).results).toEqual([{ "text/plain": "2" }]);
  });

  it("goes on with a cell while nobody listens, and replays without a gap", async () => {
    const execution = box.start(
      "import time\nfor i in range(30):\n    print(i); display(i); time.sleep(0.02)\nkept = 'yes'",
      { ack: false },
    );
    await box.until(() => box.eventsOf(execution).length > 5);
    await box.vanish();
    const seen = box.eventsOf(execution).length;
    const done = { execution, last_seq: expect.any(Number), done: true };
    await expect
      .poll(
        async () => {
          await box.vanish();
          return (await listenAgain()).executions;
        },
        { timeout: 20_000, interval: 300 },
      )
      .toContainEqual(done);
    // What the guest says to another execution comes after whatever it would say unasked.
    await box.run("1");
    expect(box.eventsOf(execution).length).toBe(seen);
    replayAll();
    const ran = await box.finish(execution);
    expect(ran.stdout).toBe(Array.from({ length: 30 }, (_, i) => `${i}\n`).join(""));
    expect(ran.results).toHaveLength(30);
    expect(ran.events.map((event) => event.seq)).toEqual(ran.events.map((_, i) => i + 1));
    expect((await box.run("kept")).results).toEqual([{ "text/plain": "'yes'" }]);
    box.send({ type: "ack", execution, seq: ran.done.seq, final: true });
  });

  it("survives ten cuts in mid-cell", async () => {
    const execution = box.start("import time\nfor i in range(100):\n    print(i); time.sleep(0.01)", {
      ack: false,
    });
    for (let i = 0; i < 10; i++) {
      await sleep(60);
      await box.vanish();
      await listenAgain();
      replayAll();
    }
    const ran = await box.finish(execution);
    expect(ran.stdout).toBe(Array.from({ length: 100 }, (_, i) => `${i}\n`).join(""));
    box.send({ type: "ack", execution, seq: ran.done.seq, final: true });
  });

  it("starts an execution once, however often it is sent", async () => {
    await box.run("count = 0");
    const execution = "exe_twice";
    for (let i = 0; i < 3; i++) box.startAs(execution, "count += 1");
    await box.finish(execution);
    box.startAs(execution, "count += 1");
    expect((await box.run("count")).results).toEqual([{ "text/plain": "1" }]);
  });

  it("forgets an execution at the final ack, and keeps it until then", async () => {
    const kept = await box.finish(box.start("1", { ack: false }));
    box.send({ type: "ack", execution: kept.execution, seq: 1, final: false });
    const forgotten = await box.run("2");
    await box.vanish();
    const known = (await listenAgain()).executions.map((entry) => entry.execution);
    expect(known).toContain(kept.execution);
    expect(known).not.toContain(forgotten.execution);
    replayAll();
    box.send({ type: "ack", execution: kept.execution, seq: kept.done.seq, final: true });
  });

  it("stops reading its kernels when 16 MiB wait for an ack, and goes on after it", async () => {
    const one = box.start("for i in range(4): print('x' * 5_000_000)\nprint('end')", {
      ack: false,
      stream_limit: 64 * 1024 * 1024,
    });
    expect(await heldBack(one)).toBeLessThan(18 * 1024 * 1024);
    expect(box.eventsOf(one).at(-1)?.type).toBe("stdout");
    box.send({ type: "ack", execution: one, seq: box.eventsOf(one).length, final: false });
    const ran = await box.finish(one);
    expect(ran.stdout).toHaveLength(20_000_008);
    box.send({ type: "ack", execution: one, seq: ran.done.seq, final: true });
  });

  it("can kill a kernel that is held back", async () => {
    const execution = box.start("while True: print('x' * 1_000_000)", {
      ack: false,
      stream_limit: 64 * 1024 * 1024,
    });
    await heldBack(execution);
    box.send({ type: "kill", execution });
    const ran = await box.finish(execution);
    expect(ran.done.status).toBe("died");
    box.send({ type: "ack", execution, seq: ran.done.seq, final: true });
    expect((await box.run("1")).done.status).toBe("ok");
  });

  it("dials again when the daemon refuses, talks nonsense, or sends an endless line", async () => {
    let refusals = 2;
    const rule = box.accept;
    box.accept = (hello) => (refusals-- > 0 ? false : rule(hello));
    await box.vanish();
    let before = box.hellos.length;
    await box.listen();
    await box.until(() => box.hellos.length >= before + 3);
    box.sendRaw('nonsense\n[]\n{"type":5}\n{"type":"run"}\n{"type":"ack"}\n\n');
    expect((await box.run("1")).done.status).toBe("ok");
    before = box.hellos.length;
    box.sendRaw("x".repeat(5 * 1024 * 1024));
    await box.until(() => box.hellos.length > before);
    expect((await box.run("1")).done.status).toBe("ok");
  });

  it("is not the only one who can dial, but the only one who knows the token", async () => {
    const before = box.hellos.length;
    await box.run(
      "import socket, json\ns = socket.socket(socket.AF_UNIX); s.connect('/run/sandbar/daemon.sock')\n" +
        "s.sendall(json.dumps({'type': 'hello', 'v': 1, 'languages': [], 'contexts': [], 'executions': [], 'token': 'guess'}).encode() + b'\\n')\ns.recv(100)",
    );
    expect(box.hellos.length).toBe(before + 1);
    expect((await box.run("1")).done.status).toBe("ok");
  });

  it("takes a million characters of code and of stdin", async () => {
    const code = `x = "${"é".repeat(900_000)}"\nimport sys\n(len(x), len(sys.stdin.read()))`;
    const ran = await box.run(code, { stdin: "s".repeat(1_000_000) });
    expect(ran.results).toEqual([{ "text/plain": "(900000, 1000000)" }]);
  });

  it("keeps late output for a daemon that comes back", async () => {
    const mark = box.messages.length;
    await box.run("import threading\nthreading.Timer(0.2, lambda: print('while away')).start()");
    await box.vanish();
    await sleep(400);
    await listenAgain();
    await box.message("late", (m) => m.text.includes("while away"), mark);
  });

  it("ends at shutdown", async () => {
    box.send({ type: "shutdown" });
    const { execFileSync } = await import("node:child_process");
    expect(execFileSync("docker", ["wait", box.container], { encoding: "utf8" }).trim()).toBe("0");
  });
});
