import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { deploymentConfig, namesIn, withoutServices } from "./config.ts";

const toml = await readFile(new URL("../../wrangler.toml", import.meta.url), "utf8");

it("takes the names from the committed configuration", () => {
  expect(namesIn(toml)).toEqual({ database: "sandbar", bucket: "sandbar-blobs" });
});

it("puts the account's database in and mends the paths, and changes nothing else", () => {
  const made = deploymentConfig(toml, "11111111-2222-3333-4444-555555555555");
  expect(made).toContain('database_id = "11111111-2222-3333-4444-555555555555"');
  expect(made).toContain('main = "../worker/src/index.ts"');
  expect(made).toContain('directory = "../worker/dist/assets"');
  expect(made).toContain('migrations_dir = "../migrations"');
  expect(made.split("\n")).toHaveLength(toml.split("\n").length);
});

it("makes the agent's from its own folder", async () => {
  const agent = await readFile(new URL("../../agent/wrangler.toml", import.meta.url), "utf8");
  const made = deploymentConfig(agent, "11111111-2222-3333-4444-555555555555", "agent/");
  expect(made).toContain('main = "../agent/src/index.ts"');
  expect(made).toContain('database_id = "11111111-2222-3333-4444-555555555555"');
});

it("leaves out the bindings to other Workers, and nothing else", () => {
  const made = withoutServices(toml);
  expect(toml).toContain('service = "sandbar-agent"');
  expect(made).not.toContain("sandbar-agent");
  expect(made.split("[[").length).toBe(toml.split("[[").length - 1);
});

it("refuses a configuration that has a real id already", () => {
  expect(() => deploymentConfig(deploymentConfig(toml, "x"), "y")).toThrow("placeholder");
});
