import { Sandbar, type TenantEvent } from "@sandbar/sdk";
import { describe, expect, it } from "vitest";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("who watches a tenant", () => {
  const { stack, client } = useStack();

  it("hears of every execution, artifact and session, though both planes are killed in between", async () => {
    const seen: TenantEvent[] = [];
    const stop = new AbortController();
    const sandbar = new Sandbar({ url: stack.url, apiKey: stack.key });
    const watching = (async () => {
      for await (const event of sandbar.events({ signal: stop.signal })) seen.push(event);
    })().catch((error) => (stop.signal.aborted ? null : Promise.reject(error)));
    await eventually("the stream is open", 10_000, () => seen[0]?.type === "hello");
    const executions = () => seen.flatMap((event) => (event.type === "execution" ? event.data : []));
    const ended = () => executions().filter(({ state }) => state === "ended");

    const session = await client.create();
    const first = await client.run(session.id, "open('/session/artifacts/a.txt', 'w').write('made')");
    const broken = await client.run(session.id, "1 / 0");
    const long = await client.start(session.id, "import time; time.sleep(6); 'slept'");
    await eventually("it is told of while it runs", 10_000, () =>
      executions().some(({ execution, status }) => execution === long.id && status === "running"),
    );
    // What has just ended has not been told yet.
    const late = await client.run(session.id, "echo late", { language: "bash" });
    await stack.killServer("SIGKILL");
    await stack.killAgent("SIGKILL");
    await stack.startServer();
    await stack.startAgent();
    await client.finished(session.id, long.id);
    await client.ok("POST", `/v1/sessions/${session.id}/export`, { files: [{ source: "/etc/hostname" }] });
    await client.ok("DELETE", `/v1/sessions/${session.id}`);
    const wanted = [first.id, broken.id, late.id, long.id];
    await eventually("everything is told", 90_000, () => {
      const over = seen.some(
        ({ type, data }) => type === "session" && (data as { status: string }).status === "stopped",
      );
      return over && wanted.every((id) => ended().some(({ execution }) => execution === id));
    });
    stop.abort();
    await watching;
    expect(ended().find(({ execution }) => execution === broken.id)!.error_code).toBe("EXECUTION_ERROR");
    const artifacts = seen.flatMap((event) => (event.type === "artifact" ? event.data : []));
    expect(artifacts.map(({ name }) => name).sort()).toEqual(["a.txt", "hostname"]);
    expect(await (await fetch(artifacts[0]!.url)).text()).toBe("made");
    expect(seen.some(({ type }) => type === "reset")).toBe(false);
    expect(
      seen.some(({ type, data }) => type === "host" && (data as { id: string }).id === stack.hostId),
    ).toBe(true);
    const { data } = await sandbar.usageSeries();
    expect(data.reduce((sum, point) => sum + point.executions, 0)).toBe(4);
    expect(data.reduce((sum, point) => sum + (point.errors.EXECUTION_ERROR ?? 0), 0)).toBe(1);
  });
});
