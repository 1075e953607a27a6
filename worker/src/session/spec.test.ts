import { describe, expect, it } from "vitest";
import { canonical, conflictsWith, DEFAULT_LIMITS, fillSpec } from "./spec.ts";

describe("a filled specification", () => {
  it("has every default", () => {
    expect(fillSpec({})).toEqual({
      runtime: "python",
      image: null,
      storage: "TMPFS",
      dataset_access: "NONE",
      network: "none",
      limits: DEFAULT_LIMITS,
      dependencies: {},
      env: {},
      volumes: [],
      idle_ttl_s: 1800,
      max_lifetime_s: 7200,
    });
  });

  it("prefers the caller's limits to the host's, and the host's to ours", () => {
    const { limits } = fillSpec({ limits: { cpus: 2 } }, { cpus: 4, pids: 64 });
    expect(limits).toEqual({ ...DEFAULT_LIMITS, cpus: 2, pids: 64 });
  });

  it("shrinks tmpfs with the memory unless the caller sets it", () => {
    expect(fillSpec({ limits: { memory_mb: 128 } }).limits.tmpfs_mb).toBe(64);
    expect(fillSpec({ limits: { memory_mb: 128, tmpfs_mb: 100 } }).limits.tmpfs_mb).toBe(100);
  });

  it("ignores defaults of a host that make no sense", () => {
    expect(fillSpec({}, { memory_mb: -1 }).limits).toEqual(DEFAULT_LIMITS);
  });
});

describe("a second request for a key", () => {
  const spec = fillSpec({ env: { A: "1", B: "2" }, network: "egress", limits: { memory_mb: 256 } });

  it("agrees when it gives less, or the same in another order", () => {
    expect(conflictsWith({}, spec)).toEqual([]);
    expect(conflictsWith({ env: { B: "2", A: "1" }, limits: { memory_mb: 256 } }, spec)).toEqual([]);
  });

  it("may name the image that the session shows, though the first one named none", () => {
    expect(conflictsWith({ image: "sandbar/python:latest" }, spec, "sandbar/python:latest")).toEqual([]);
    expect(conflictsWith({ image: "sandbar/r:latest" }, spec, "sandbar/python:latest")).toEqual(["image"]);
  });

  it("may leave the tag out where it is latest, on either side", () => {
    const untagged = fillSpec({ image: "sandbar/python" });
    expect(conflictsWith({ image: "sandbar/python" }, spec, "sandbar/python:latest")).toEqual([]);
    expect(conflictsWith({ image: "sandbar/python:latest" }, untagged)).toEqual([]);
    expect(conflictsWith({ image: "sandbar/python:1" }, untagged)).toEqual(["image"]);
    const numbered = fillSpec({ image: "local:5000/python:2" });
    expect(conflictsWith({ image: "local:5000/python" }, numbered)).toEqual(["image"]);
  });

  it("names each field in which it differs", () => {
    expect(
      conflictsWith(
        { runtime: "r", network: "none", limits: { memory_mb: 1, pids: 256 }, env: {} } as never,
        spec,
      ),
    ).toEqual(["runtime", "network", "limits.memory_mb", "env"]);
  });

  it("that names the session's snapshot gives what was merged with that", () => {
    const restored = { ...spec, restore: { snapshot: "snp_1", digest: "d", at: "" } };
    const again = { snapshot: "snp_1", env: { B: "2" } };
    expect(conflictsWith(again, restored)).toEqual([]);
    expect(conflictsWith({ ...again, env: { B: "3" } }, restored)).toEqual(["env"]);
    expect(conflictsWith({ ...again, dependencies: { six: "" } }, restored)).toEqual(["dependencies"]);
    expect(conflictsWith({ env: { B: "2" } }, restored)).toEqual(["env"]);
    expect(conflictsWith(again, spec)).toEqual(["snapshot"]);
  });

  it("may have other labels and times to live", () => {
    expect(conflictsWith({ labels: { a: "b" }, idle_ttl_s: 5, max_lifetime_s: 6 }, spec)).toEqual([]);
  });
});

describe("canonical JSON", () => {
  it("does not depend on the order of keys, but on that of arrays", () => {
    expect(canonical({ b: [1, { d: 1, c: 2 }], a: 1 })).toBe(canonical({ a: 1, b: [1, { c: 2, d: 1 }] }));
    expect(canonical([1, 2])).not.toBe(canonical([2, 1]));
  });
});
