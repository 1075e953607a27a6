import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { deploymentConfig, namesIn } from "./config.ts";

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

it("refuses a configuration that has a real id already", () => {
  expect(() => deploymentConfig(deploymentConfig(toml, "x"), "y")).toThrow("placeholder");
});
