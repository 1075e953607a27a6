import { describe, expect, it } from "vitest";
import { FrameShuffler } from "../fixtures/frame-shuffler.ts";
import { eventually, type Stack } from "../fixtures/stack.ts";
import { TcpProxy } from "../fixtures/tcp-proxy.ts";
import { startStack, useStack } from "../fixtures/use-stack.ts";

/** Appends one line to a file in the session each time it runs: the file counts the starts. */
const COUNTING = (seconds: number) =>
  `import time\nopen('/session/starts', 'a').write('x')\nmark = 'kept'\nprint('begun', flush=True)\nfor i in range(${seconds * 10}):\n    time.sleep(0.1)\n    print(i, flush=True)\nprint('done')`;
const EXPECTED = (seconds: number) =>
  `begun\n${Array.from({ length: seconds * 10 }, (_, i) => `${i}\n`).join("")}done\n`;
const STARTS = "print(open('/session/starts').read(), mark)";

describe("promises 1, 2, 3: one start, one record, no gap, whatever dies", () => {
  const link = new TcpProxy();
  const { stack, client } = useStack({ agentThrough: link });

  it("runs 20 parallel POSTs with one idempotency key once", async () => {
    const { id } = await client.create();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.run(id, COUNTING(1), {}, { "idempotency-key": "once" })),
    );
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((await client.run(id, STARTS)).stdout).toBe("x kept\n");
    const conflict = await client.problem(
      "POST",
      `/v1/sessions/${id}/executions`,
      { code: "other" },
      { "idempotency-key": "once" },
    );
    expect([conflict.status, conflict.body.code]).toEqual([409, "IDEMPOTENCY_CONFLICT"]);
  });

  it("survives kill -9 of the daemon in mid-cell", async () => {
    const { id } = await client.create();
    const waiting = client.run(id, COUNTING(4));
    await eventually("the cell runs", 10_000, async () => (await running(client, id))?.status === "running");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await stack.killAgent("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await stack.startAgent();
    const execution = await waiting;
    expect(execution).toMatchObject({ status: "ok", stdout: EXPECTED(4), state: { variables: "kept" } });
    expect((await client.run(id, STARTS)).stdout).toBe("x kept\n");
  });

  it("reports a cell that finished while the daemon was dead", async () => {
    const { id } = await client.create();
    const started = await client.start(id, COUNTING(1));
    await eventually(
      "the cell runs",
      10_000,
      async () => (await client.execution(id, started.id)).stdout !== "",
    );
    await stack.killAgent("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await stack.startAgent();
    expect(await client.finished(id, started.id)).toMatchObject({ status: "ok", stdout: EXPECTED(1) });
    expect((await client.run(id, STARTS)).stdout).toBe("x kept\n");
  });

  it("survives kill -9 of workerd in mid-cell", async () => {
    const { id } = await client.create();
    const started = await client.start(id, COUNTING(3));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    process.kill(stack.workerdPid, "SIGKILL");
    await stack.killServer("SIGTERM");
    await stack.startServer();
    expect(await client.finished(id, started.id)).toMatchObject({ status: "ok", stdout: EXPECTED(3) });
    expect((await client.run(id, STARTS)).stdout).toBe("x kept\n");
    const events = [];
    for await (const event of client.events(`/v1/sessions/${id}/executions/${started.id}/events`))
      events.push(event);
    expect(events.map((event) => Number(event.id))).toEqual(events.map((_, index) => index + 1));
    expect(events.filter((event) => event.event === "finished")).toHaveLength(1);
  });

  it("survives a link that is cut for seconds", async () => {
    const { id } = await client.create();
    const waiting = client.run(id, COUNTING(4));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    link.cut();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    link.mend();
    expect(await waiting).toMatchObject({ status: "ok", stdout: EXPECTED(4) });
    expect((await client.run(id, STARTS)).stdout).toBe("x kept\n");
  });

  it("does not mind frames that come twice or in another order", async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`seed ${seed}`);
    const shuffler = new FrameShuffler(seed);
    const { client } = await startStack({ agentThrough: shuffler });
    const { id } = await client.create();
    await client.run(id, "n = 0");
    // Slow enough that each line is a frame of its own.
    const code =
      "import time\nn += 1\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.006)\nn";
    const answers = await Promise.all(Array.from({ length: 15 }, () => client.run(id, code)));
    const numbers = answers.map((answer) => Number(answer.text)).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
    const expected = Array.from({ length: 30 }, (_, index) => `${index}\n`).join("");
    for (const answer of answers) expect(answer.stdout).toBe(expected);
    expect(shuffler.duplicated + shuffler.swapped).toBeGreaterThan(0);
  });
});

async function running(client: ReturnType<Stack["client"]>, session: string) {
  const { data } = await client.ok<{ data: { status: string }[] }>(
    "GET",
    `/v1/sessions/${session}/executions`,
  );
  return data[0];
}
