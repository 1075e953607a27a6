import { describe, expect, it } from "vitest";
import { STAGES, wantedBy } from "./wanted.ts";

describe("what npm test was asked for", () => {
  it("is every stage, without arguments", () => {
    expect(wantedBy([])).toEqual({ help: false, stages: STAGES, changed: null, vitest: [] });
  });

  it("is the tests that match, with filters or options of vitest", () => {
    const { stages, vitest } = wantedBy(["test/docs/examples-docs.test.ts", "-u"]);
    expect(stages).toEqual(["unit", "workerd", "e2e"]);
    expect(vitest).toEqual(["test/docs/examples-docs.test.ts", "-u"]);
  });

  it.each([
    [["--stage", "unit"], ["unit"]],
    [["--stage=e2e,types"], ["types", "e2e"]],
    [
      ["--stage", "workerd", "--stage", "format"],
      ["format", "workerd"],
    ],
    [["--stage", "unit", "backoff"], ["unit"]],
  ])("is the stages that %j names, in their order", (args, stages) => {
    expect(wantedBy(args).stages).toEqual(stages);
  });

  it("is what changed, with what is cheap to check", () => {
    expect(wantedBy(["--changed"])).toMatchObject({
      changed: "",
      stages: ["format", "lint", "types", "unit", "workerd", "e2e"],
    });
    expect(wantedBy(["--changed=HEAD~3", "--stage", "unit"])).toMatchObject({
      changed: "HEAD~3",
      stages: ["unit"],
    });
  });

  it("refuses a stage that there is not", () => {
    expect(() => wantedBy(["--stage", "all"])).toThrow(/no stage "all"; there are format, lint/);
  });
});
