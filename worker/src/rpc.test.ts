import { describe, expect, it } from "vitest";
import { isTransient, remote } from "./rpc.ts";

describe("a call to an object", () => {
  it("is made again, on a fresh stub, when the object was reset", async () => {
    let stubs = 0;
    const object = remote<{ add(a: number, b: number): Promise<number> }>(() => {
      const attempt = ++stubs;
      return {
        add: async (a: number, b: number) => {
          if (attempt < 3)
            throw Object.assign(new Error("Durable Object reset"), { durableObjectReset: true });
          return a + b;
        },
      };
    });
    expect(await object.add(1, 2)).toBe(3);
    expect(stubs).toBe(3);
  });

  it("is not made again after an error of its own, and not without end", async () => {
    let calls = 0;
    const failing = (error: Error) =>
      remote<{ call(): Promise<void> }>(() => ({
        call: async () => {
          calls++;
          throw error;
        },
      }));
    await expect(failing(new Error("a bug")).call()).rejects.toThrow("a bug");
    expect(calls).toBe(1);
    calls = 0;
    await expect(failing(new Error("Network connection lost.")).call()).rejects.toThrow("lost");
    expect(calls).toBe(6);
  });

  it("is not repeated to an object that is overloaded", () => {
    expect(isTransient(Object.assign(new Error("overloaded"), { retryable: true, overloaded: true }))).toBe(
      false,
    );
    expect(isTransient(Object.assign(new Error("x"), { retryable: true }))).toBe(true);
    expect(isTransient("text")).toBe(false);
  });
});
