import { describe, expect, it } from "vitest";
import { lease } from "./lease.ts";

const times = { heartbeat: 10_000, unreachable: 45_000, lost: 300_000 };

describe("a host that is silent", () => {
  it("is online for 45 s, unreachable for 5 min, then lost", () => {
    expect(lease("online", 0, 44_999, times)).toEqual({ status: "online", checkAt: 45_000 });
    expect(lease("online", 0, 45_000, times)).toEqual({ status: "unreachable", checkAt: 55_000 });
    expect(lease("unreachable", 0, 299_000, times)).toEqual({ status: "unreachable", checkAt: 300_000 });
    expect(lease("unreachable", 0, 300_000, times)).toEqual({ status: "lost", checkAt: null });
    expect(lease("online", 0, 300_000, times)).toEqual({ status: "lost", checkAt: null });
  });

  it("is online again when its heartbeat comes back", () => {
    expect(lease("unreachable", 50_000, 51_000, times)).toEqual({ status: "online", checkAt: 95_000 });
  });

  it("stays lost, or joining, until it says hello", () => {
    expect(lease("lost", 0, 1, times)).toEqual({ status: "lost", checkAt: null });
    expect(lease("joining", 0, 1e9, times)).toEqual({ status: "joining", checkAt: null });
  });
});
