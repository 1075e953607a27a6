import { CONTEXT_LIMIT } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { resolveContext } from "./contexts.ts";
import { fillSpec } from "./spec.ts";

const session = { languages: ["python", "bash"] as ("python" | "bash")[], spec: fillSpec({}) };
const python = { id: "ctx_1", name: "python", language: "python" as const, created_at: 0 };
const lookup = {
  find: (name: string) => (name === "python" || name === "ctx_1" ? python : null),
  count: () => 1,
};
const resolve = (wanted: Parameters<typeof resolveContext>[1]) => resolveContext(session, wanted, lookup, 0);

describe("the context of an execution", () => {
  it("is the runtime's when none is named", () => {
    expect(resolve({})).toEqual({ value: { context: python, fresh: false } });
  });

  it("is found by name and by id", () => {
    expect(resolve({ context: "ctx_1" })).toEqual({ value: { context: python, fresh: false } });
  });

  it("is made on demand when its language is clear", () => {
    expect(resolve({ language: "bash" })).toMatchObject({
      value: { context: { name: "bash" }, fresh: true },
    });
    expect(resolve({ context: "bash" })).toMatchObject({
      value: { context: { language: "bash" }, fresh: true },
    });
    expect(resolve({ context: "x", language: "bash" })).toMatchObject({
      value: { context: { name: "x" }, fresh: true },
    });
  });

  it("must exist when its language is not clear", () => {
    expect(resolve({ context: "x" })).toMatchObject({ failure: { code: "NOT_FOUND" } });
  });

  it("must fit the language that is given beside it, and the image", () => {
    expect(resolve({ context: "python", language: "bash" })).toMatchObject({
      failure: { code: "CONTEXT_EXISTS" },
    });
    expect(resolve({ language: "r" })).toMatchObject({ failure: { code: "LANGUAGE_UNAVAILABLE" } });
  });

  it("is one of a bounded number", () => {
    const full = { find: () => null, count: () => CONTEXT_LIMIT };
    expect(resolveContext(session, { language: "bash" }, full, 0)).toMatchObject({
      failure: { code: "LIMIT_EXCEEDED" },
    });
  });
});
