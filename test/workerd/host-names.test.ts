import type { Problem } from "@sandbar/shared";
import { expect, it } from "vitest";
import { createApp } from "../../worker/src/app.ts";
import { bindings, Client } from "./client.ts";

const app = createApp();
const context = {
  waitUntil: () => {},
  passThroughOnException: () => {},
  props: {},
} as unknown as ExecutionContext;
const ask = (url: string, more: object = {}, headers: Record<string, string> = {}) =>
  app.fetch(new Request(url, { headers }), { ...bindings, ...more }, context);

it("a name that somebody has pointed at this machine opens nothing of it", async () => {
  const { secret } = await Client.of("named");
  for (const path of [
    "/v1/sessions",
    "/v1/me",
    "/mcp",
    "/docs",
    "/openapi.json",
    "/",
    "/console/frame",
    "/langgraph/info",
  ]) {
    const answer = await ask(`http://rebound.example${path}`, {}, { Authorization: `Bearer ${secret}` });
    expect(answer.status, path).toBe(403);
    expect((await answer.json<Problem>()).code, path).toBe("HOST_NAME_NOT_ALLOWED");
  }
  expect((await ask("http://rebound.example/healthz")).status).toBe(200);
});

it("addresses, localhost, the names that the operator lists and names that a certificate proves are ours", async () => {
  const known = async (url: string, more: object = {}) => (await ask(`${url}/openapi.json`, more)).status;
  for (const url of [
    "http://127.0.0.1:8787",
    "http://[::1]:8787",
    "http://localhost",
    "https://sandbar.example",
  ])
    expect(await known(url), url).toBe(200);
  expect(await known("http://box.lan:8787", { ALLOWED_HOSTS: "other, BOX.lan" })).toBe(200);
  expect(await known("http://box.lan", { CONSOLE_ORIGIN: "https://box.lan" })).toBe(200);
  expect(await known("https://sandbar.example", { ALLOWED_HOSTS: "box.lan" })).toBe(403);
});
