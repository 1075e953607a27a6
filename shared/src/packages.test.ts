import { resolve } from "node:path";
import { expect, it } from "vitest";
import { importsBelow } from "./imports.test-support.ts";

const REPO = resolve(import.meta.dirname, "../..");

/** Who may import whom; what stands further up is imported by what stands further down, never the other way. */
const MAY_IMPORT: Record<string, string[]> = {
  shared: [],
  sdk: ["shared"],
  worker: ["shared", "sdk"],
  web: ["shared", "sdk"],
  agent: ["shared", "sdk", "worker"],
  "agent-host": ["shared"],
  cli: ["shared", "sdk", "worker", "agent-host"],
  docs: ["shared"],
  examples: ["sdk"],
  test: ["shared", "sdk", "worker", "agent-host", "cli", "docs", "examples"],
  bench: ["shared", "sdk", "worker", "agent-host", "cli", "test"],
};

it.each(Object.entries(MAY_IMPORT))("%s imports no package but %j", (name, allowed) => {
  const imports = importsBelow(REPO, name).map(({ file, specifier, target }) => ({
    file,
    specifier,
    of: /^@sandbar\/([^/]+)/.exec(target)?.[1] ?? (target === specifier ? name : target.split("/")[0]!),
  }));
  expect(imports.length).toBeGreaterThan(0);
  expect(imports.filter(({ of }) => of !== name && !allowed.includes(of))).toEqual([]);
});
