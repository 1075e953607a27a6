import type { IngestFile } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { refusals } from "./admission.ts";

const file = (size: number): IngestFile => ({
  name: `f${size}`,
  size,
  sha256: "0".repeat(64),
  mime: "text/plain",
  version: "1",
});
const none = { sessionBytes: 0, tenantBytes: 0, tenantCount: 0 };
const limits = { fileBytes: 100, perExecution: 3, sessionBytes: 250, tenantBytes: 1000, tenantCount: 5 };

describe("which files are refused", () => {
  it("none within the limits", () => {
    expect(refusals([file(100), file(100), file(50)], new Set(), none, limits)).toEqual([]);
  });

  it("a large one for good, and it takes no room from the others", () => {
    const refused = refusals([file(101), file(100), file(100), file(50)], new Set(), none, limits);
    expect(refused).toEqual([{ index: 0, reason: expect.stringMatching(/^too large/), final: true }]);
  });

  it("those after the most that an execution may leave, also when earlier requests took some", () => {
    const refused = refusals([file(1), file(1), file(1)], new Set(), none, limits, 2);
    expect(refused.map(({ index }) => index)).toEqual([1, 2]);
    expect(refused[0]).toMatchObject({ final: false, reason: expect.stringMatching(/^too many/) });
  });

  it("the one that would break a quota, not a smaller one after it", () => {
    const used = { sessionBytes: 200, tenantBytes: 200, tenantCount: 1 };
    expect(refusals([file(60), file(50)], new Set(), used, limits)).toEqual([
      { index: 0, reason: expect.stringMatching(/^over quota: the session/), final: false },
    ]);
  });

  it("by the tenant's bytes and count too", () => {
    expect(refusals([file(60)], new Set(), { ...none, tenantBytes: 950 }, limits)[0]!.reason).toMatch(
      /tenant's/,
    );
    expect(refusals([file(1)], new Set(), { ...none, tenantCount: 5 }, limits)[0]!.reason).toMatch(
      /may have 5/,
    );
  });

  it("never one that was recorded before: it costs nothing", () => {
    const used = { sessionBytes: 250, tenantBytes: 1000, tenantCount: 5 };
    expect(refusals([file(60)], new Set([0]), used, limits)).toEqual([]);
  });
});
