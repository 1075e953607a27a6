/** The key of secrets is replaced, as docs/configuration.md says, while secrets are sealed. No sandbox is needed. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { useChat } from "../fixtures/chat.ts";
import { onD1 } from "../fixtures/local-storage.ts";
import { eventually } from "../fixtures/stack.ts";

const chat = useChat({ withoutAgent: true, serverEnv: { SANDBAR_CRON_MS: "300" } });
const { stack, client } = chat;

const sealed = (): string[] => {
  const texts = "SELECT secrets AS text FROM settings UNION ALL SELECT sealed_headers FROM dataset_sources";
  return onD1(stack, (db) => Array.from(db.prepare(texts).all(), ({ text }) => String(text)));
};

const startWith = async (...keys: string[]) => {
  await stack.killServer("SIGTERM");
  writeFileSync(join(stack.home, "secrets-key"), `${keys.join("\n")}\n`);
  await stack.startServer();
};

async function keyThatTheModelSees(): Promise<string | undefined> {
  chat.model.script({ text: "ready" });
  expect(await client.ok("POST", "/v1/settings/test")).toMatchObject({ ok: true });
  return chat.model.requests[0]!.key;
}

it("a new key before the old one seals everything anew; then the old one may go", async () => {
  const file = join(stack.home, "secrets-key");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const old = readFileSync(file, "utf8").trim();
  await client.ok("PUT", "/v1/settings", { api_key: "sk-kept-1234" });
  await client.ok("POST", "/v1/dataset-sources", {
    name: `store-${Date.now()}`,
    url_template: "https://data.example/{id}",
    headers: { authorization: "Bearer kept" },
  });
  const before = sealed();
  expect(before.length).toBeGreaterThan(1);
  expect(before.join()).not.toMatch(/sk-kept|Bearer/);

  const fresh = `key-${Date.now()}`;
  await startWith(fresh, old);
  expect(await keyThatTheModelSees()).toBe("Bearer sk-kept-1234");
  const keyId = (text: string) => text.split(":")[1];
  await eventually("all is sealed anew", 20_000, () =>
    sealed().every((text) => keyId(text) !== keyId(before[0]!)),
  );
  expect(new Set(sealed().map(keyId)).size).toBe(1);

  await startWith(fresh);
  expect(await keyThatTheModelSees()).toBe("Bearer sk-kept-1234");
  expect(await client.ok("GET", "/v1/settings")).toMatchObject({
    api_keys: { openai: { set: true, last_four: "1234" } },
  });
});

it("without the key that sealed it a secret stays closed, and comes back with the key", async () => {
  const key = readFileSync(join(stack.home, "secrets-key"), "utf8").trim();
  await client.ok("PUT", "/v1/settings", { api_key: "sk-kept-1234" });
  await startWith("somebody-else's");
  expect(await client.call("POST", "/v1/settings/test")).toMatchObject({
    status: 503,
    body: { code: "SECRET_UNREADABLE" },
  });
  await startWith(key);
  expect(await keyThatTheModelSees()).toBe("Bearer sk-kept-1234");
});
