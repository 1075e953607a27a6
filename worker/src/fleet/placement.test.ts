import { describe, expect, it } from "vitest";
import { type Candidate, place } from "./placement.ts";

const host = (id: string, over: Partial<Candidate> = {}): Candidate => ({
  id,
  status: "online",
  cordoned: false,
  capacity: { max_sessions: 10, memory_mb: 8_192, cpus: 4, runtimes: ["python"] },
  sessions: 0,
  reserved_mb: 0,
  ...over,
});
const need = { runtime: "python" as const, image: null, memory_mb: 512 };

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
    expect(place([host("a", { sessions: 10 })], need)).toEqual({ reason: "Every host is full" });
    expect(place([host("a", { reserved_mb: 8_000 })], need)).toEqual({ reason: "Every host is full" });
    expect(place([host("a")], { ...need, memory_mb: 100_000 })).toMatchObject({ never: true });
  });

  it("needs no particular runtime for bash and for images of the caller's own", () => {
    expect(place([host("a")], { ...need, runtime: "bash" })).toMatchObject({ host: "a" });
    expect(place([host("a")], { ...need, runtime: "r", image: "mine" })).toMatchObject({ host: "a" });
  });

  it("reserves the host's default memory when the caller names none", () => {
    const own = host("a", { capacity: { ...host("a").capacity!, default_limits: { memory_mb: 333 } } });
    expect(place([own], { ...need, memory_mb: null })).toEqual({ host: "a", memory_mb: 333 });
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
