import { expect, it } from "vitest";
import { createApp } from "../../worker/src/app.ts";
import { bindings } from "./client.ts";

const app = createApp();
const context = {
  waitUntil: () => {},
  passThroughOnException: () => {},
  props: {},
} as unknown as ExecutionContext;
const LISTED = "https://chat.example";

const ask = (method: string, origin: string | null) =>
  app.fetch(
    new Request("http://127.0.0.1:8787/langgraph/threads", {
      method,
      headers: {
        ...(origin ? { Origin: origin } : {}),
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-api-key,last-event-id",
      },
    }),
    { ...bindings, LANGGRAPH_ALLOWED_ORIGINS: `https://other.example, ${LISTED}` },
    context,
  );

it("pages that the operator lists may ask the agent with a key, and never with a cookie", async () => {
  const before = await ask("OPTIONS", LISTED);
  expect(before.status).toBe(204);
  expect(before.headers.get("Access-Control-Allow-Origin")).toBe(LISTED);
  expect(before.headers.get("Access-Control-Allow-Headers")).toContain("x-api-key");
  expect(before.headers.get("Access-Control-Allow-Methods")).toContain("PATCH");
  expect(before.headers.get("Access-Control-Allow-Credentials")).toBeNull();
  // A refusal can be read too.
  const refused = await ask("POST", LISTED);
  expect(refused.status).toBe(401);
  expect(refused.headers.get("Access-Control-Allow-Origin")).toBe(LISTED);
  expect(refused.headers.get("Access-Control-Expose-Headers")).toContain("Content-Location");
});

it("other pages are told nothing", async () => {
  for (const origin of ["https://evil.example", "null", "http://chat.example", null])
    for (const method of ["OPTIONS", "POST"])
      expect((await ask(method, origin)).headers.get("Access-Control-Allow-Origin"), `${origin}`).toBeNull();
});
