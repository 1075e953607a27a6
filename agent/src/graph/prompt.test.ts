import { describe, expect, it } from "vitest";
import { systemPrompt } from "./prompt.ts";

const settings = { prompt: "", read_only: false };
const nothing = { session: null, files: [], datasets: [] };
const INFO = {
  ...{ runtime: "r", engine: "container", image: "sandbar/r:latest", storage: "BIND", network: "egress" },
  ...{ limits: { timeout_s: 30, memory_mb: 512 }, dependencies: { sf: "1.0", gt: "" } },
  datasets: { access: "LOCAL_RO" },
};
const session = { id: "ses_1", info: INFO } as never;

describe("the agent is told", () => {
  it("what its sandbox is: runtime, modes, limits, packages, files and datasets", () => {
    const facts = { session, files: ["/session/a.csv (3 bytes)"], datasets: ["rain: /data/rain"] };
    const prompt = systemPrompt(facts, settings, { wished: {}, lost: false });
    for (const words of [
      ...["runs R, with tidyverse", "may reach the internet", "on the host's disk", "30 seconds"],
      ...["Installed for it besides: sf 1.0, gt.", "- /session/a.csv (3 bytes)"],
      "Datasets, read-only in /data:\n- rain: /data/rain",
    ])
      expect(prompt).toContain(words);
    expect(prompt).not.toMatch(/Its image|has ended/);
  });

  it("what a sandbox will be that is not there yet", () => {
    const wished = { storage: "BIND", dependencies: { six: "" }, image: "acme/geo:3" } as const;
    const prompt = systemPrompt(nothing, settings, { wished, lost: false });
    expect(prompt).toContain("on the host's disk");
    expect(prompt).toContain("Installed for it besides: six.");
    expect(prompt).toContain("Its image is acme/geo:3");
    expect(prompt).toContain("no network");
  });

  it("that the one it worked in is gone, and what the tenant adds", () => {
    const prompt = systemPrompt(nothing, { prompt: "Be kind.", read_only: true }, { wished: {}, lost: true });
    expect(prompt).toContain("has ended: its variables and files are gone");
    expect(prompt).toContain("You may only look");
    expect(prompt.endsWith("\n\nBe kind.")).toBe(true);
  });
});
