import type { Policy } from "@sandbar/sdk";
import { describe, expect, it } from "vitest";
import { formOf, inWords, policyOf } from "./policy-form.ts";

const POLICY: Policy = {
  allow: { egress: false, bind: true, imports: ["/srv/acme", "/srv/all"] },
  engines: ["container"],
  isolation: null,
  max: { memory_mb: 4096, cpus: 1.5 },
  shares: { sessions: 20, memory_mb: null, host_percent: 50 },
};

describe("the form for a tenant's policy", () => {
  it("comes back as the policy that it was made of", () => {
    expect(policyOf(formOf(POLICY))).toEqual({ policy: POLICY });
    expect(policyOf(formOf({}))).toEqual({ policy: {} });
  });

  it("says which field is no number", () => {
    const form = formOf({});
    const wrong = {
      ...form,
      max: { ...form.max, cpus: "many" },
      shares: { ...form.shares, host_percent: "none" },
    };
    expect(policyOf(wrong)).toEqual({
      wrong: { "max.cpus": "A number, please.", "shares.host_percent": "A number, please." },
    });
  });

  it("is told in a line", () => {
    expect(inWords(POLICY)).toBe(
      "no egress; bind; imports below /srv/acme, /srv/all; in container; memory mb ≤ 4096; cpus ≤ 1.5; " +
        "20 sessions in all; unlimited memory mb in all; 50 host percent in all",
    );
    expect(inWords({})).toBe("");
  });
});
