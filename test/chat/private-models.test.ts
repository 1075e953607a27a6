/** Models in private networks, where the operator allows none, and where all. No sandbox is needed. */
import { lookup } from "node:dns/promises";
import { hostname } from "node:os";
import { expect, it } from "vitest";
import { ask, useChat } from "../fixtures/chat.ts";

const chat = useChat({ withoutAgent: true, vars: { SANDBAR_MODEL_PRIVATE_URLS: "none" } });
const { stack, client } = chat;

/** By its address, by the name that everybody knows, and by one that only a resolver can see through. */
async function addresses(): Promise<string[]> {
  const { port } = new URL(chat.model.openai);
  const { address } = await lookup(hostname(), { family: 4 });
  // Otherwise this machine's name would lead past the fake, and prove nothing.
  expect(address).toMatch(/^127\./);
  return ["127.0.0.1", "localhost", hostname()].map((host) => `http://${host}:${port}/v1`);
}

it("none is asked, by whatever name, and the sentence says whose decision that is", async () => {
  chat.model.script({ text: "ready" });
  for (const base_url of await addresses()) {
    await client.ok("PUT", "/v1/settings", { model: "compatible:x", base_url, api_key: "sk-x" });
    expect(await client.ok("POST", "/v1/settings/test")).toMatchObject({ ok: false });
  }
  await client.ok("PUT", "/v1/settings", { base_url: "http://127.0.0.1:9/v1" });
  expect(await client.ok("POST", "/v1/settings/test")).toMatchObject({
    detail: "127.0.0.1 lies in a private network, which the operator has not allowed",
  });
  const { thread_id } = await chat.langgraph().threads.create();
  const options = { ...(ask("Hi") as object), raiseError: false } as never;
  expect(await chat.langgraph().runs.wait(thread_id, "agent", options)).toMatchObject({
    __error__: { error: "MODEL_URL_NOT_ALLOWED" },
  });
  expect(chat.model.requests).toEqual([]);
});

it("where all are allowed each is asked, and a cloud's own services are not", async () => {
  await stack.killServer("SIGTERM");
  await stack.startServer({ vars: { SANDBAR_MODEL_PRIVATE_URLS: "all" } });
  chat.model.says(() => ({ text: "ready" }));
  const reachable = await addresses();
  for (const base_url of reachable)
    expect(await client.ok("POST", "/v1/settings/test", { base_url })).toMatchObject({ ok: true });
  expect(chat.model.requests).toHaveLength(reachable.length);
  for (const base_url of ["http://169.254.169.254/v1", "http://[::ffff:a9fe:a9fe]/v1"])
    expect(await client.ok("POST", "/v1/settings/test", { base_url })).toMatchObject({
      ok: false,
      detail: expect.stringContaining("never allowed"),
    });
});
