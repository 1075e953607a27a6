import type { SessionRecord } from "@sandbar/sdk";
import { describe, expect, it } from "vitest";
import { matching } from "./session-filter.ts";

const session = (id: string, more: Partial<SessionRecord> = {}) =>
  ({
    id,
    key: id,
    status: "ready",
    runtime: "python",
    image: null,
    host_id: "hst_1",
    storage: "TMPFS",
    network: "none",
    labels: {},
    ...more,
  }) as SessionRecord;

const ids = (found: SessionRecord[]) => found.map(({ id }) => id);

describe("the list of sessions", () => {
  const all = [
    session("a", { labels: { team: "ml" } }),
    session("b", { status: "stopped", runtime: "r" }),
    session("c", { status: "creating", key: "Conversation-17" }),
  ];

  it("shows what lives, what has ended, or both", () => {
    expect(ids(matching(all, { text: "", show: "live" }))).toEqual(["a", "c"]);
    expect(ids(matching(all, { text: "", show: "ended" }))).toEqual(["b"]);
    expect(ids(matching(all, { text: "", show: "all" }))).toEqual(["a", "b", "c"]);
  });

  it("finds every word anywhere, whatever its case", () => {
    expect(ids(matching(all, { text: "conversation", show: "all" }))).toEqual(["c"]);
    expect(ids(matching(all, { text: "team=ml PYTHON", show: "all" }))).toEqual(["a"]);
    expect(ids(matching(all, { text: "team=ml node", show: "all" }))).toEqual([]);
  });

  it("finds a host by its name", () => {
    expect(ids(matching(all, { text: "oslo", show: "live" }, () => "oslo-1"))).toEqual(["a", "c"]);
  });
});
