import { afterEach, describe, expect, it } from "vitest";
import { events, fakeServer, hangUp, json } from "../fake-server.test-support.ts";
import type { RunEvent } from "./shapes.ts";

let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

async function start(...handlers: Parameters<typeof fakeServer>[0]) {
  const server = await fakeServer(handlers);
  close = server.close;
  return { threads: server.client.threads, received: server.received };
}

const run = (status: string, metadata: object = {}) => ({ run_id: "r1", thread_id: "t", status, metadata });

describe("a question to the agent", () => {
  it("is read to the run's end, on after cuts and polite ends, without a gap or a repeat", async () => {
    const { threads, received } = await start(
      json(200, run("pending")),
      events([[1, "metadata", {}]], "break"),
      events([[2, "custom", { type: "started" }]]),
      json(200, run("running")),
      events([[3, "updates", {}]]),
      json(200, run("success")),
    );
    let cuts = 0;
    const stream = await threads.ask("t", "Why?", { model: "openai:x", onReconnect: () => cuts++ });
    const seen: RunEvent[] = [];
    for await (const event of stream) seen.push(event);
    expect(seen.map(({ id, event }) => [id, event])).toEqual([
      ["1", "metadata"],
      ["2", "custom"],
      ["3", "updates"],
    ]);
    expect(stream.run).toMatchObject({ status: "success" });
    expect(cuts).toBe(1);
    expect(JSON.parse(received[0]!.body)).toMatchObject({
      assistant_id: "agent",
      input: { messages: [{ role: "user", content: "Why?" }] },
      config: { configurable: { model: "openai:x" } },
    });
    const streams = received.filter(({ path }) => path.includes("/stream?"));
    expect(streams.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "1", "2"]);
  });

  it("whose answer was lost is not asked again when it has arrived", async () => {
    let request = "";
    const { threads, received } = await start(
      (received, response) => {
        request = JSON.parse(received.body).metadata.sandbar_request;
        hangUp(received, response);
      },
      (received, response) => json(200, [run("running", { sandbar_request: request })])(received, response),
    );
    const stream = await threads.ask("t", "Why?");
    expect(stream.runId).toBe("r1");
    expect(received.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });

  it("that was lost on the way is asked again, with the same name", async () => {
    const { threads, received } = await start(hangUp, json(200, []), json(200, run("pending")));
    await threads.ask("t", "Why?");
    const posts = received.filter(({ method }) => method === "POST").map(({ body }) => body);
    expect(posts).toHaveLength(2);
    expect(posts[0]).toBe(posts[1]);
  });

  it("a picture's link that leads elsewhere gets no key", async () => {
    const { threads, received } = await start(json(200, {}));
    await expect(threads.picture("https://elsewhere.example/x.png")).rejects.toThrow("no picture");
    expect(received).toEqual([]);
  });
});
