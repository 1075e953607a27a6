import { expect, it } from "vitest";
import { titleFrom } from "./title.ts";

it("is what was asked, on one line, without the files that came along", () => {
  expect(titleFrom("Which city\n is the  wettest?")).toBe("Which city is the wettest?");
  expect(titleFrom("Which?\n\nAttached files:\n- /session/a.csv\n- /session/b.csv (1 kB)")).toBe("Which?");
  expect(titleFrom([{ type: "text", text: "Look\n\nAttached files:\n- /session/a.png" }])).toBe("Look");
  expect(titleFrom("Attached files:\n- /session/a.csv")).toBe("Attached files: - /session/a.csv");
  expect(titleFrom("x".repeat(200))).toHaveLength(80);
  expect([titleFrom(" "), titleFrom(undefined)]).toEqual([null, null]);
});
