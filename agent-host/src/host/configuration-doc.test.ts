import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SettingsSchema, VARIABLES } from "./config.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const doc = read("docs/configuration.md");
const part = (title: string) => doc.split(/^## /m).find((text) => text.startsWith(title)) ?? "";

/** Variable names in the first column, with the second one. */
function rows(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, names, value] of text.matchAll(/^\| (`[^|]+`) \| ([^|]*)\|/gm))
    for (const [, name] of names!.matchAll(/`([A-Z0-9_]+)`/g)) found.set(name!, value!.trim());
  return found;
}

describe("docs/configuration.md", () => {
  it("has every setting of agent-host, and no other", () => {
    expect([...rows(part("agent-host")).keys()].sort()).toEqual([...VARIABLES].sort());
  });

  it("has agent-host's defaults", () => {
    const documented = rows(part("agent-host"));
    for (const name of VARIABLES) {
      const literal = /^`([^`]*)`$/.exec(documented.get(name) ?? "")?.[1];
      const fallback = SettingsSchema.shape[name].safeParse(undefined).data;
      if (literal !== undefined) expect(`${name}=${literal}`).toBe(`${name}=${fallback}`);
      else if (documented.get(name) === "") expect(fallback ?? "").toBe("");
    }
  });

  it("has every variable of the Worker, and no other", () => {
    const declared = [...read("worker/src/env.ts").matchAll(/^ {2}([A-Z0-9_]+)\?: string;/gm)].map(
      ([, name]) => name,
    );
    expect([...rows(part("The Worker")).keys()].sort()).toEqual(declared.sort());
  });

  it("has every variable of the local server", () => {
    const documented = part("The control plane on one machine");
    const used = [
      "worker/local/main.ts",
      "worker/local/server.ts",
      "worker/local/workerd-leash.ts",
      "cli/src/up/up.ts",
    ]
      .flatMap((file) => [...read(file).matchAll(/process\.env\.(SANDBAR_[A-Z_]+)/g)])
      .map(([, name]) => name);
    for (const name of used) expect(documented).toContain(`\`${name}\``);
  });
});
