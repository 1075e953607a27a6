import { describe, expect, it, vi } from "vitest";
import { Calls } from "./calls.ts";

/** Asks, and answers as a daemon would that says this. */
function answered(result: unknown) {
  const calls: Calls = new Calls((frame) => {
    if (frame.t === "call") queueMicrotask(() => calls.answer(frame.id, result, undefined));
    return true;
  });
  return calls.ask({ session: "ses_x", method: "datasets.remove", params: { id: "sales" } });
}

describe("what a host answers", () => {
  it("is taken without what its method does not have", async () => {
    expect(await answered({ removed: true, of_a_later_version: 1 })).toEqual({ value: { removed: true } });
  });

  it("is not believed before it was checked", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    for (const result of [null, [], "yes", { removed: "yes" }])
      expect(await answered(result)).toMatchObject({ failure: { code: "HOST_ERROR" } });
    logged.mockRestore();
  });
});
