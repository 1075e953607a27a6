import type { SessionSpec } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { readConfig } from "../host/config.ts";
import { poolKey, poolSpec } from "./pool-key.ts";

const config = readConfig({ DATASETS_HOST_RO: "/srv/datasets" });
const spec = poolSpec(config, "python");
const key = (changes: Partial<SessionSpec> & Record<string, unknown> = {}, late = true) =>
  poolKey(config, "python", { ...spec, ...changes }, late);

describe("a warm box", () => {
  it.each([
    [{ limits: { ...spec.limits, memory_mb: 64 } }],
    [{ env: { A: "b" } }],
    [{ idle_ttl_s: 5, max_lifetime_s: 6 }],
    [{ dataset_access: "API" as const }],
    [{ dataset_access: "LOCAL_RO" as const }],
    [{ storage: "BIND" as const }],
    [{ image: "sandbar/python:latest" }],
  ])("serves a session with %o", (changes) => {
    expect(key(changes)).toBe(key());
  });

  it.each([
    [{ volumes: [{ name: "v", path: "/v" }] }],
    [{ dependencies: { numpy: "" } }],
    [{ image: "sandbar/other:1" }],
  ])("cannot become a session with %o", (changes) => {
    expect(key(changes)).toBeNull();
  });

  it.each([[{ storage: "BIND" as const }], [{ dataset_access: "LOCAL_RO" as const }]])(
    "cannot become a session with %o where the host cannot mount into it",
    (changes) => {
      expect(key(changes, false)).toBeNull();
      expect(key({}, false)).not.toBeNull();
    },
  );

  it("leaves it to the cold way to say that the host has no datasets", () => {
    expect(poolKey(readConfig({}), "python", { ...spec, dataset_access: "LOCAL_RO" }, true)).toBeNull();
  });

  it.each([[{ network: "egress" as const }], [{ runtime: "bash" as const }], [{ something_new: ["x"] }]])(
    "of another kind serves a session with %o",
    (changes) => {
      expect(key(changes)).not.toBeNull();
      expect(key(changes)).not.toBe(key());
    },
  );
});
