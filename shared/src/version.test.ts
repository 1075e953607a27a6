import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { VERSION } from "./version.ts";

const REPO = resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(resolve(REPO, file), "utf8");

it("every package of the repository has the one version", () => {
  const manifests = ["package.json", ...globSync("*/package.json", { cwd: REPO })];
  const versions = manifests.map((file) => [file, JSON.parse(read(file)).version]);
  expect(versions).toEqual(manifests.map((file) => [file, VERSION]));
  expect(read("sdk/python/src/sandbar/_version.py")).toContain(`"${VERSION}"`);
});
