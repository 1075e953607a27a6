import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import type { SseEvent } from "../fixtures/client.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("processes survive the daemon, and floods stay within bounds", () => {
  const { stack, client } = useStack();

  it("streams on without a gap when the daemon is killed and comes back", async () => {
    const session = (await client.create()).id;
    const path = `/v1/sessions/${session}/processes`;
    const { id } = await client.ok<Process>("POST", path, {
      command: "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo $i; sleep 0.1; done",
    });
    const events: SseEvent[] = [];
    const following = (async () => {
      for await (const event of client.events(`${path}/${id}/events`)) events.push(event);
    })();
    while (events.length < 5) await sleep(20);
    await stack.killAgent("SIGKILL");
    await sleep(1500);
    await stack.startAgent();
    await following;
    const lines = events
      .filter(({ event }) => event === "stdout")
      .map(({ data }) => data.text)
      .join("");
    expect(lines).toBe(Array.from({ length: 60 }, (_, index) => `${index + 1}\n`).join(""));
    expect(events.at(-1)).toMatchObject({ event: "exit", data: { exit_code: 0 } });
    expect(events.map((event) => Number(event.id))).toEqual(events.map((_, index) => index + 1));
    await client.stop(session);
  });

  it("is still there, output and all, when the control plane was killed and came back", async () => {
    const session = (await client.create()).id;
    const path = `/v1/sessions/${session}/processes`;
    const { id } = await client.ok<Process>("POST", path, {
      command: "echo before; read -r line; echo $line",
    });
    await stack.killServer("SIGKILL");
    await stack.startServer();
    await stack.waitForHost("online");
    await eventually("the daemon is linked again", 20_000, async () => {
      await client.ok("POST", `${path}/${id}/stdin`, { data: "after\n" });
      return true;
    });
    const events: SseEvent[] = [];
    for await (const event of client.events(`${path}/${id}/events`)) events.push(event);
    expect(events.map(({ event, data }) => data.text ?? event)).toEqual(["before\n", "after\n", "exit"]);
    await client.stop(session);
  });

  it("tells readers when the session ends under the process", async () => {
    const session = (await client.create()).id;
    const path = `/v1/sessions/${session}/processes`;
    const { id } = await client.ok<Process>("POST", path, { command: "echo up; sleep 1000" });
    const events: SseEvent[] = [];
    for await (const event of client.events(`${path}/${id}/events`)) {
      events.push(event);
      if (event.data.text === "up\n") await client.stop(session);
    }
    expect(events.map(({ event }) => event)).toEqual(["stdout", "exit"]);
    const gone = await client.problem("GET", `${path}/${id}`);
    expect([gone.status, gone.body.code]).toEqual([410, "SESSION_ENDED"]);
  });

  it("keeps the last MiB of a flood, says what is gone, and runs cells meanwhile", async () => {
    const session = (await client.create()).id;
    const path = `/v1/sessions/${session}/processes`;
    const { id } = await client.ok<Process>("POST", path, {
      command: "yes 0123456789abcdef | head -c 100000000",
    });
    expect((await client.run(session, "6 * 7")).text).toBe("42");
    let bytes = 0;
    let last: SseEvent | null = null;
    const seen: number[] = [];
    await sleep(1000);
    for await (const event of client.events(`${path}/${id}/events`)) {
      if (event.event === "stdout") bytes += event.data.text.length;
      seen.push(Number(event.id));
      last = event;
    }
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(last).toMatchObject({ event: "exit", data: { exit_code: 0 } });
    const info = await client.ok<Process>("GET", `${path}/${id}`);
    expect(info.dropped_bytes).toBeGreaterThan(98_000_000);
    let kept = 0;
    let dropped = 0;
    for await (const event of client.events(`${path}/${id}/events`)) {
      if (event.event === "dropped") dropped += event.data.count;
      if (event.event === "stdout") kept += event.data.text.length;
    }
    expect(dropped).toBeGreaterThan(0);
    expect(kept + info.dropped_bytes).toBe(100_000_000);
    expect(kept).toBeLessThanOrEqual(1024 * 1024);
    expect(bytes).toBeGreaterThan(0);
    await client.stop(session);
  });

  it("holds at most 64 processes, those that ended making room", async () => {
    const session = (await client.create()).id;
    const path = `/v1/sessions/${session}/processes`;
    const { id: ended } = await client.ok<Process>("POST", path, { command: "true" });
    for await (const _ of client.events(`${path}/${ended}/events`));
    for (let i = 0; i < 64; i++) await client.ok("POST", path, { argv: ["sleep", "600"] });
    const { status, body } = await client.problem("POST", path, { command: "true" });
    expect([status, body.code]).toEqual([429, "PROCESS_LIMIT"]);
    expect((await client.problem("GET", `${path}/${ended}`)).body.code).toBe("NOT_FOUND");
    const { data } = await client.ok<{ data: Process[] }>("GET", path);
    expect(data).toHaveLength(64);
    await client.ok("DELETE", `${path}/${data[0]!.id}`);
    await client.ok("POST", path, { command: "true" });
    await client.stop(session);
  });
});
