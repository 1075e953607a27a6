import { describe, expect, it } from "vitest";
import { type AuditFacts, AuditTrail } from "./trail.ts";

const facts = (more: Partial<AuditFacts> = {}): AuditFacts => ({
  tenant: "t",
  key_id: "key_1",
  token_id: null,
  via: "key",
  address: "192.0.2.1",
  action: "session.create",
  target: null,
  result: "FORBIDDEN",
  request_id: "req_1",
  detail: null,
  ...more,
});

describe("the audit trail", () => {
  it("makes one line with a count of the same refusals, with the first one's request", () => {
    const trail = new AuditTrail();
    trail.add(facts(), 1_000, false);
    trail.add(facts({ request_id: "req_2" }), 2_000, false);
    trail.add(facts({ address: "192.0.2.2" }), 2_000, false);
    const lines = trail.take();
    expect(lines.map(({ count, request_id }) => [count, request_id])).toEqual([
      [2, "req_1"],
      [1, "req_1"],
    ]);
    expect(lines[0]).toMatchObject({ at: "1970-01-01T00:00:01.000Z", last_at: "1970-01-01T00:00:02.000Z" });
    expect(trail.isEmpty).toBe(true);
  });

  it("keeps apart what must have a line each", () => {
    const trail = new AuditTrail();
    trail.add(facts({ result: "ok" }), 0, true);
    trail.add(facts({ result: "ok" }), 0, true);
    expect(trail.take()).toHaveLength(2);
  });

  it("stays small however many guess from however many places", () => {
    const trail = new AuditTrail();
    for (let i = 0; i < 5_000; i++) trail.add(facts({ address: `a${i}`, target: `t${i}` }), 0, false);
    const lines = trail.take();
    expect(lines.length).toBeLessThanOrEqual(501);
    expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(5_000);
  });
});
