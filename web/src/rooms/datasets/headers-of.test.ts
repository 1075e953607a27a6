import { expect, it } from "vitest";
import { headersOf } from "./headers-of.ts";

it("reads a header in each line, whose value may have colons", () => {
  expect(headersOf("Authorization: Bearer a:b\n\n X-Team : growth \n")).toEqual({
    Authorization: "Bearer a:b",
    "X-Team": "growth",
  });
  expect(headersOf("  \n")).toEqual({});
});

it("says which line is no header, and not its secret", () => {
  expect(() => headersOf("Authorization Bearer hidden")).toThrow('"Authorization" is no header');
});
