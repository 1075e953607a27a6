import { ENGINES, type EngineOffer } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { type Candidate, type Need, offerFor, place } from "./placement.ts";

const host = (id: string, over: Partial<Candidate> = {}): Candidate => ({
  id,
  status: "online",
  cordoned: false,
  capacity: { max_sessions: 10, memory_mb: 8_192, cpus: 4, runtimes: ["python"] },
  sessions: 0,
  reserved_mb: 0,
  ...over,
});
const need: Need = { runtime: "python", image: null, engine: "any", capabilities: [], memory_mb: 512 };
const wasm = (id: string, over: Partial<Candidate> = {}): Candidate => {
  const offer = {
    engine: "wasm" as const,
    runtimes: ["python" as const],
    capabilities: ["dependencies" as const],
  };
  return host(id, { capacity: { ...host(id).capacity!, engines: [offer] }, ...over });
};

describe("placement", () => {
  it("takes the least loaded host, by sessions or by memory, whichever is scarcer", () => {
    expect(place([host("a", { sessions: 5 }), host("b", { sessions: 1 })], need)).toMatchObject({
      host: "b",
    });
    expect(place([host("a", { reserved_mb: 6_000 }), host("b", { sessions: 5 })], need)).toMatchObject({
      host: "b",
    });
    expect(place([host("b"), host("a")], need)).toMatchObject({ host: "a" });
  });

  it("passes over hosts that are away, cordoned, full or without the runtime, and says why none is left", () => {
    expect(place([], need)).toEqual({ reason: "No host has joined" });
    expect(place([host("a", { status: "unreachable" })], need)).toEqual({ reason: "No host is online" });
    expect(place([host("a", { cordoned: true })], need)).toEqual({ reason: "Every online host is cordoned" });
    expect(place([host("a", { capacity: null })], need)).toEqual({
      reason: "No host has the runtime python ready",
    });
    expect(place([host("a")], { ...need, runtime: "r" })).toEqual({
      reason: "No host has the runtime r ready",
    });
    expect(place([host("a", { sessions: 10 })], need)).toEqual({
      reason: "Every host is full: 10 of 10 sessions and 0 of 8192 MB are taken, and this one needs 512 MB",
    });
    expect(place([host("a", { reserved_mb: 8_000 })], need)).toMatchObject({
      reason: expect.stringContaining("8000 of 8192 MB are taken"),
    });
    expect(place([host("a")], { ...need, memory_mb: 100_000 })).toMatchObject({ never: true });
  });

  it("needs no particular runtime for bash and for images of the caller's own", () => {
    expect(place([host("a")], { ...need, runtime: "bash" })).toMatchObject({ host: "a" });
    expect(place([host("a")], { ...need, runtime: "r", image: "mine" })).toMatchObject({ host: "a" });
  });

  it("reserves the host's default memory when the caller names none", () => {
    const own = host("a", { capacity: { ...host("a").capacity!, default_limits: { memory_mb: 333 } } });
    expect(place([own], { ...need, memory_mb: null })).toMatchObject({ host: "a", memory_mb: 333 });
  });

  it("leaves it to the host what an image of the caller's own can run", () => {
    const bare = host("a", { capacity: { max_sessions: 1, memory_mb: 8_192, cpus: 4, runtimes: [] } });
    expect(place([bare], { ...need, image: "mine" })).toMatchObject({ host: "a" });
  });

  it("keeps a session with a volume on the volume's host, however busy, and says so when that cannot be", () => {
    const pinned = { ...need, host: "a" };
    expect(place([host("a", { sessions: 9 }), host("b")], pinned)).toMatchObject({ host: "a" });
    expect(place([host("a", { status: "lost" }), host("b")], pinned)).toEqual({
      reason: "The session's volume lies on the host a, which cannot take it: No host is online",
    });
    expect(place([host("b")], pinned)).toMatchObject({ reason: expect.stringContaining("was removed") });
  });
});

describe("a tenant's part of a host", () => {
  const own = (sessions: number, memory_mb: number) => ({
    sessions,
    reserved_mb: memory_mb,
    own: { sessions, memory_mb },
  });
  const shared: Need = { ...need, host_percent: 75 };

  it("is left, even where there is room, for others", () => {
    expect(place([host("a", own(6, 0))], shared)).toMatchObject({ host: "a" });
    expect(place([host("a", own(7, 0))], shared)).toMatchObject({ share: true });
    expect(place([host("a", own(1, 6_000))], shared)).toMatchObject({ share: true });
    expect(place([host("a", own(7, 0)), host("b", { sessions: 9 })], shared)).toMatchObject({ host: "b" });
    expect(place([host("a", own(9, 0))], need)).toMatchObject({ host: "a" });
  });

  it("is one session at least", () => {
    const tiny = { capacity: { ...host("a").capacity!, max_sessions: 1 } };
    expect(place([host("a", tiny)], shared)).toMatchObject({ host: "a" });
  });

  it("bounds what is reserved for who asks for nothing", () => {
    expect(place([host("a")], { ...need, memory_mb: null, most: { memory_mb: 128, cpus: 0.5 } })).toEqual({
      host: "a",
      memory_mb: 128,
      cpus: 0.5,
    });
  });
});

describe("placement among engines", () => {
  it("takes containers first, and WebAssembly when no container host can", () => {
    expect(place([wasm("a"), host("b", { sessions: 9 })], need)).toMatchObject({ host: "b" });
    expect(place([wasm("a"), host("b", { sessions: 10 })], need)).toMatchObject({ host: "a" });
    expect(place([wasm("a"), host("b", { status: "lost" })], need)).toMatchObject({ host: "a" });
    expect(place([wasm("a")], need)).toMatchObject({ host: "a" });
  });

  it("takes the engine that is asked for, and no other", () => {
    expect(place([wasm("a"), host("b")], { ...need, engine: "wasm" })).toMatchObject({ host: "a" });
    expect(place([host("b")], { ...need, engine: "wasm" })).toEqual({ reason: "No host has WebAssembly" });
    expect(place([wasm("a")], { ...need, engine: "container" })).toEqual({
      reason: "No host has containers",
    });
    expect(place([wasm("a", { sessions: 10 }), host("b")], { ...need, engine: "wasm" })).toEqual({
      reason: expect.stringMatching(/^Every host is full: 10 of 10 sessions/),
    });
  });

  it("refuses at once what WebAssembly never has", () => {
    for (const [asked, named] of [
      [{ runtime: "bash" }, "runtime bash"],
      [{ runtime: "node" }, "runtime node"],
      [{ runtime: "r" }, "runtime r"],
      [{ capabilities: ["volumes"] }, "volumes"],
      [{ image: "mine", capabilities: ["images"] }, "images of your own"],
    ] as const)
      expect(place([], { ...need, engine: "wasm", ...asked })).toEqual({
        reason: `A session in WebAssembly cannot have ${named}`,
        unsupported: true,
      });
  });

  it("refuses what the hosts' part of it lacks", () => {
    const bind: Need = { ...need, engine: "wasm", capabilities: ["bind"] };
    expect(place([wasm("a")], bind)).toMatchObject({ unsupported: true });
    expect(place([wasm("a")], { ...bind, capabilities: ["dependencies"] })).toMatchObject({ host: "a" });
  });

  it("never gives WebAssembly what needs a container", () => {
    const r: Need = { ...need, runtime: "r" };
    expect(place([wasm("a")], r)).toEqual({
      reason: "A session in WebAssembly cannot have runtime r",
      unsupported: true,
    });
    expect(place([wasm("a"), host("b")], r)).toEqual({ reason: "No host has the runtime r ready" });
    expect(place([wasm("a"), host("b", { status: "unreachable" })], r)).toEqual({
      reason: "No host has the runtime r ready",
    });
  });

  it("knows which of a host's engines a session gets", () => {
    const { capacity } = wasm("a");
    const containers: EngineOffer = {
      engine: "container",
      runtimes: ["python"],
      capabilities: [...ENGINES.container.capabilities],
    };
    const both = wasm("a", { capacity: { ...capacity!, engines: [...capacity!.engines!, containers] } });
    expect(offerFor(both, need)?.engine).toBe("container");
    expect(offerFor(both, { ...need, engine: "wasm" })?.engine).toBe("wasm");
    expect(offerFor(wasm("a"), need)?.engine).toBe("wasm");
    expect(offerFor(wasm("a"), { ...need, runtime: "r" })).toBeNull();
  });

  it("takes only hosts with the wall that a policy demands, and containers only", () => {
    const walled = (id: string, isolation: "gvisor" | "kata") =>
      host(id, {
        sessions: 5,
        capacity: {
          ...host(id).capacity!,
          engines: [{ engine: "container", runtimes: ["python"], capabilities: [], isolation }],
        },
      });
    const hosts = [host("a"), walled("b", "gvisor"), wasm("c"), walled("d", "kata")];
    expect(place(hosts, { ...need, isolation: "gvisor" })).toMatchObject({ host: "b" });
    expect(place(hosts, { ...need, isolation: "container" })).toMatchObject({ host: "a" });
    expect(place(hosts, { ...need, isolation: null })).toMatchObject({ host: "a" });
    expect(place([host("a"), wasm("c")], { ...need, isolation: "gvisor" })).toEqual({
      reason: "No host has the isolation gvisor, which the tenant's policy demands",
    });
  });

  it("passes over a host that takes nothing new, and says why when it is the only one", () => {
    const full = host("a", { capacity: { ...host("a").capacity!, refuses: "its disk is full" } });
    expect(place([full, host("b", { sessions: 9 })], need)).toMatchObject({ host: "b" });
    expect(place([full], need)).toEqual({ reason: "No host takes new sessions: its disk is full" });
  });
});
