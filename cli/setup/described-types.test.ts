import { describe, expect, it } from "vitest";
import { withNotes } from "./described-types.ts";

describe("notes in type declarations", () => {
  it("stand before their fields, by the nearest owner, and leave comments that are there", () => {
    const declared = [
      "export declare const SessionSchema: z.ZodObject<{",
      "    id: z.ZodString;",
      "    /** Said already. */",
      "    storage: z.ZodString;",
      "    error: z.ZodOptional<z.ZodObject<{",
      "        code: z.ZodString;",
      "    }>>;",
      "    idle_ttl_s: z.ZodNumber;",
      "}>;",
    ].join("\n");
    const lines = withNotes(declared, "sessions").split("\n");
    const before = (field: string) =>
      lines[lines.findIndex((line) => line.trim().startsWith(`${field}:`)) - 1];
    expect(before("id")).toMatch(/^ {4}\/\*\* Its id\./);
    expect(before("storage")).toBe("    /** Said already. */");
    expect(before("code")).toMatch(/^ {8}\/\*\* From the table of error codes\./);
    expect(before("idle_ttl_s")).toContain("30 minutes");
  });
});
