import { describe, expect, it } from "vitest";
import { explainFailure } from "../../engine/dependency-list.ts";
import { installerFor } from "./installers.ts";

const settings = { rRepos: ["https://example.org/cran"] };
const command = (runtime: "python" | "node" | "r", dependencies: Record<string, string>) =>
  installerFor(runtime, dependencies, settings).command;

describe("an installer", () => {
  it("gets each dependency as one argument", () => {
    expect(command("python", { six: "1.16.0", pandas: ">=2, <3", rich: "" }).slice(-3)).toEqual([
      "six==1.16.0",
      "pandas>=2, <3",
      "rich",
    ]);
    expect(command("node", { "@scope/a": "^1.2", b: "latest" }).slice(-3)).toEqual([
      "--",
      "@scope/a@^1.2",
      "b",
    ]);
    expect(command("r", { jsonlite: "1.8.8", evaluate: "" }).slice(-5)).toEqual([
      "https://example.org/cran",
      "jsonlite",
      "1.8.8",
      "evaluate",
      "-",
    ]);
  });

  it.each([
    ["python", "@scope/a"],
    ["python", "folder/package"],
    ["node", "user/repository"],
    ["node", "-g"],
    ["r", "../x"],
    ["bash", "six"],
  ] as const)("of %s does not take %s", (runtime, name) => {
    expect(() => installerFor(runtime, { [name]: "" }, settings)).toThrow(name);
  });
});

describe("a failure", () => {
  const wanted = { requests: "", "requests-mock": "", left: "9" };

  it("names the dependency that the installer complains about, and no other", () => {
    const said = "Collecting requests\nERROR: No matching distribution found for requests-mock\n";
    expect(explainFailure(wanted, said, null)).toBe(
      "requests-mock: ERROR: No matching distribution found for requests-mock",
    );
  });

  it("is bounded and never empty", () => {
    expect(explainFailure(wanted, "error ".repeat(10_000), null).length).toBeLessThan(1700);
    expect(explainFailure({ left: "9" }, "", null)).toBe("left: no reason");
    expect(explainFailure({ left: "9" }, "noise", "it took too long")).toBe("left: it took too long");
  });
});
