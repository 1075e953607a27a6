import { expect, it } from "vitest";
import { withoutTypes } from "./typescript-source.ts";

it("takes types out and leaves everything else where it was", async () => {
  expect(await withoutTypes("a.ts", "const a: number = 1;\na as any;")).toBe(
    "const a         = 1;\na       ;",
  );
});

it("turns what is more than a type into code", async () => {
  const code = await withoutTypes("a.ts", "enum Colour { red = 3 }\nglobalThis.colour = Colour.red;");
  new Function(code)();
  expect(globalThis).toMatchObject({ colour: 3 });
});

it("says where a file is no TypeScript", async () => {
  await expect(withoutTypes("a.ts", "let a;\nconst (")).rejects.toThrow(/^a\.ts:2:7: Unexpected token/);
});
