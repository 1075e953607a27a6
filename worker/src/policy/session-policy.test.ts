import { describe, expect, it } from "vitest";
import { effectivePolicy } from "./effective.ts";
import { engineByPolicy, refusalByPolicy, withinMaxima } from "./session-policy.ts";

describe("a policy", () => {
  it("allows what nobody forbids", () => {
    const free = effectivePolicy();
    expect(
      refusalByPolicy(free, { limits: { memory_mb: 1_000_000 } }, ["egress", "bind", "images"]),
    ).toBeNull();
    expect(engineByPolicy(free, {})).toBe("any");
  });

  it("of a tenant counts before that for all, field by field", () => {
    const merged = effectivePolicy(
      { allow: { egress: false, bind: false }, max: { cpus: 2, memory_mb: 100 }, engines: ["wasm"] },
      { allow: { bind: true }, max: { cpus: 4 } },
    );
    expect(merged).toMatchObject({
      allow: { egress: false, bind: true, volumes: true },
      max: { cpus: 4, memory_mb: 100 },
      engines: ["wasm"],
    });
  });

  it("names the first thing that it forbids", () => {
    const policy = effectivePolicy({ allow: { egress: false }, max: { idle_ttl_s: 60 }, engines: ["wasm"] });
    expect(refusalByPolicy(policy, {}, ["egress"])).toBe('This tenant may not have network "egress"');
    expect(refusalByPolicy(policy, { engine: "container" }, [])).toContain("engine container");
    expect(refusalByPolicy(policy, { idle_ttl_s: 61 }, [])).toBe(
      "idle_ttl_s may be at most 60 in this tenant",
    );
    expect(refusalByPolicy(policy, { idle_ttl_s: 60 }, [])).toBeNull();
  });

  it("with one engine chooses it for who does not mind", () => {
    const policy = effectivePolicy({ engines: ["wasm"] });
    expect(engineByPolicy(policy, { engine: "any" })).toBe("wasm");
    expect(engineByPolicy(policy, { engine: "wasm" })).toBe("wasm");
  });

  it("lowers defaults to its maxima and raises none", () => {
    expect(withinMaxima({ memory_mb: 1024, cpus: 1 }, { memory_mb: 512, cpus: 8 })).toEqual({
      memory_mb: 512,
      cpus: 1,
    });
  });
});
