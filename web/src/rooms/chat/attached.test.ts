import { expect, it } from "vitest";
import { withAttached, withoutAttached } from "./attached.ts";
import { freeName } from "./free-name.ts";

it("files are named at the end of a question, and found there again", () => {
  const files = ["/session/a.csv", "/session/b c.csv"];
  for (const text of ["What is in them?", ""])
    expect(withoutAttached(withAttached(text, files))).toEqual({ text, files });
  const said = "Attached files:\nare what I ask about";
  expect(withoutAttached(said)).toEqual({ text: said, files: [] });
});

it("a file takes no other's name", () => {
  expect(freeName("a.csv", new Set(["b.csv"]))).toBe("a.csv");
  expect(freeName("a.csv", new Set(["a.csv", "a-2.csv"]))).toBe("a-3.csv");
});
