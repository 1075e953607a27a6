import { setTimeout as sleep } from "node:timers/promises";
import { type ProcessEvent, Sandbar, type Session } from "@sandbar/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { TcpProxy } from "../fixtures/tcp-proxy.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("processes, terminals and ports through the TypeScript client", () => {
  const { stack } = useStack();
  let client: Sandbar;
  let session: Session;

  beforeAll(async () => {
    client = new Sandbar({ url: stack.url, apiKey: stack.key });
    session = await client.session();
  });

  it("streams a process's output to its one exit", async () => {
    const process = await session.processes.start("echo out; echo err >&2; exit 3");
    const events: ProcessEvent[] = [];
    for await (const event of process.events()) events.push(event);
    const text = (type: string) =>
      events.flatMap((event) => (event.type === type && "text" in event ? [event.text] : [])).join("");
    expect([text("stdout"), text("stderr")]).toEqual(["out\n", "err\n"]);
    expect(events.at(-1)).toMatchObject({ type: "exit", exit_code: 3 });
    expect(await process.refresh()).toMatchObject({ status: "exited", exit_code: 3 });
  });

  it("writes to it, signals it, waits for it and forgets it", async () => {
    const cat = await session.processes.start(["cat"]);
    await cat.write("hello ");
    await cat.write(new TextEncoder().encode("there"), { eof: true });
    let text = "";
    for await (const event of cat.events()) if (event.type === "stdout") text += event.text;
    expect(text).toBe("hello there");
    const sleeper = await session.processes.start("sleep 60");
    await sleeper.signal("SIGTERM");
    expect(await sleeper.wait()).toMatchObject({ status: "exited", signal: "SIGTERM" });
    const ids = async () => (await session.processes.list()).map(({ id }) => id);
    expect(await ids()).toContain(sleeper.id);
    await sleeper.kill();
    expect(await ids()).not.toContain(sleeper.id);
  });

  it("goes on after the network was cut", async () => {
    const proxy = new TcpProxy();
    await proxy.open(stack.url);
    try {
      const flaky = new Sandbar({ url: proxy.url, apiKey: stack.key, retry: { baseMs: 10, maxMs: 50 } });
      const away = await flaky.getSession(session.id);
      const process = await away.processes.start("for i in $(seq 20); do echo $i; sleep 0.1; done");
      const cutting = setInterval(() => {
        proxy.cut();
        setTimeout(() => proxy.mend(), 20);
      }, 500);
      let text = "";
      for await (const event of process.events()) if (event.type === "stdout") text += event.text;
      clearInterval(cutting);
      expect(text).toBe(Array.from({ length: 20 }, (_, i) => `${i + 1}\n`).join(""));
    } finally {
      await proxy.close();
    }
  });

  it("a terminal answers what is typed, and tells how its shell ended", async () => {
    const terminal = await session.terminal({ cols: 100, rows: 30 });
    let screen = "";
    const decoder = new TextDecoder();
    terminal.onData((data) => (screen += decoder.decode(data, { stream: true })));
    terminal.write("echo $((40 + 2)); stty size\n");
    while (!/30 100/.test(screen)) await sleep(20);
    expect(screen).toMatch(/42\r\n/);
    terminal.resize(120, 40);
    terminal.write("stty size; exit 5\n");
    expect(await terminal.closed).toMatchObject({ exit_code: 5 });
    expect(screen).toMatch(/40 120/);
  });

  it("says why a terminal is refused", async () => {
    await expect(session.terminal({ cols: 0, rows: 0 })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    const cat = await session.processes.start(["cat"]);
    await expect(session.terminal({ process: cat.id })).rejects.toThrow();
    await cat.kill();
    await expect(session.terminal({ process: cat.id })).rejects.toThrow();
  });

  it("reaches a server inside the session", async () => {
    await session.files.write("www/index.html", "<h1>inside</h1>");
    const server = await session.processes.start(
      "python3 -m http.server 8000 --bind 127.0.0.1 --directory www",
    );
    let response = await session.fetchPort(8000, "/index.html");
    for (let i = 0; i < 300 && response.status === 502; i++) {
      await sleep(100);
      response = await session.fetchPort(8000, "/index.html");
    }
    expect([response.status, await response.text()]).toEqual([200, "<h1>inside</h1>"]);
    await server.kill();
  });
});
