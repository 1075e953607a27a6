import { describe, expect, it } from "vitest";
import { findingsOf } from "./checks.ts";
import { type DockerFacts, type Facts, skew } from "./facts.ts";

const DOCKER: DockerFacts = {
  version: "28.5.1",
  runc: "1.3.3",
  warnings: [],
  refusal: null,
  cgroupVersion: "2",
  limits: { memory: true, pids: true, cpu: true },
  seccomp: true,
  folder: "/var/lib/docker",
  images: ["python"],
  imagesMissing: [],
};
const FACTS: Facts = {
  node: "24.21.0",
  platform: "linux",
  arch: "x64",
  glibc: true,
  root: true,
  systemd: true,
  kernel: "6.12.1-amd64",
  memoryMb: 8_000,
  docker: DOCKER,
  disks: [{ folder: "/", freeMb: 50_000 }],
  controlPlane: { url: "https://sandbar.test", skewMs: 0 },
};

/** What is not well, in short. */
const wrong = (facts: Partial<Facts>) =>
  findingsOf({ ...FACTS, ...facts })
    .filter(({ state }) => state !== "ok")
    .map(({ check, state }) => `${check}: ${state}`);
const docker = (facts: Partial<DockerFacts>) => ({ docker: { ...DOCKER, ...facts } });

describe("a machine", () => {
  it("that has everything is well", () => {
    expect(wrong({})).toEqual([]);
  });

  it.each([
    ["its system", { platform: "darwin" }, ["machine: fail"]],
    ["its libc", { glibc: false }, ["machine: fail"]],
    ["its user", { root: false }, ["machine: fail"]],
    ["little memory", { memoryMb: 1_000 }, ["machine: warn"]],
    ["Node", { node: "18.19.0" }, ["Node: fail"]],
    ["systemd", { systemd: false }, ["systemd: fail"]],
    ["an old kernel", { kernel: "4.19.0-25-amd64" }, ["kernel: warn"]],
    ["no Docker", { docker: { error: "connect ENOENT /var/run/docker.sock" } }, ["Docker: fail"]],
    ["Docker that is none", docker({ refusal: "This is rootless Podman" }), ["Docker: fail"]],
    ["an old runc", docker({ warnings: ["runc 1.1.5 is older than 1.2.8"] }), ["Docker: warn"]],
    ["cgroups of version 1", docker({ cgroupVersion: "1" }), ["cgroups: warn"]],
    [
      "a controller that is off",
      docker({ limits: { memory: false, pids: true, cpu: true } }),
      ["cgroups: fail"],
    ],
    ["seccomp", docker({ seccomp: false }), ["seccomp: fail"]],
    ["images", docker({ imagesMissing: ["python"] }), ["images: warn"]],
    ["a full disk", { disks: [{ folder: "/", freeMb: 1_000 }] }, ["disk: fail"]],
    [
      "a disk that is too small to build images",
      { disks: [{ folder: "/", freeMb: 5_000 }], ...docker({ imagesMissing: ["python"] }) },
      ["images: warn", "disk: fail"],
    ],
    [
      "a control plane that is away",
      { controlPlane: { url: "https://sandbar.test", error: "ECONNREFUSED" } },
      ["control plane: fail"],
    ],
    [
      "a clock that drifts",
      { controlPlane: { url: "https://sandbar.test", skewMs: -9_000 } },
      ["clock: warn"],
    ],
    ["a wrong clock", { controlPlane: { url: "https://sandbar.test", skewMs: 3_600_000 } }, ["clock: fail"]],
  ] as [string, Partial<Facts>, string[]][])("is told of %s, and what to do", (_, facts, expected) => {
    expect(wrong(facts)).toEqual(expected);
    for (const { state, fix } of findingsOf({ ...FACTS, ...facts }))
      if (state !== "ok") expect(fix).toMatch(/\w/);
  });

  it("is not told that its clock is wrong by what a slow answer or a date without parts of a second make of it", () => {
    expect(skew(10_000, 30_000, 20_000)).toBe(0);
    expect(skew(10_900, 10_950, 10_000)).toBe(0);
    expect(skew(10_000, 10_100, 15_000)).toBe(-4_900);
    expect(skew(15_000, 15_100, 10_000)).toBe(4_001);
  });
});
