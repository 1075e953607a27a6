import { describe, expect, it } from "vitest";
import { EMPTY_LINE, formOf, rulesOf } from "./rules-form.ts";

describe("the form for a session's rules", () => {
  it("comes back as the rules that it was made of", () => {
    const network = {
      allow: ["files.example.org", "*.example.com:443"],
      secrets: [{ host: "api.example.com", header: "X-Key", secret: "api" }],
    };
    expect(rulesOf(formOf(network))).toEqual({ rules: network });
  });

  it("asks for the value again where no stored secret has it", () => {
    const form = formOf({ allow: [], secrets: [{ host: "api.example.com", header: "X-Key" }] });
    expect(rulesOf(form)).toEqual({ wrong: "api.example.com: choose a stored secret, or type the value." });
    const [line] = form.secrets;
    expect(rulesOf({ ...form, secrets: [{ ...line!, value: "v" }] })).toEqual({
      rules: { allow: [], secrets: [{ host: "api.example.com", header: "X-Key", value: "v" }] },
    });
  });

  it("takes no notice of empty lines, and refuses half ones", () => {
    expect(rulesOf({ allow: " a.example \n\n", secrets: [EMPTY_LINE] })).toEqual({
      rules: { allow: ["a.example"], secrets: [] },
    });
    expect(rulesOf({ allow: "", secrets: [{ ...EMPTY_LINE, secret: "api" }] })).toHaveProperty("wrong");
  });
});
