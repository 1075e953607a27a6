import { describe, expect, it } from "vitest";
import { parseCommandLine, UsageError } from "./cli.ts";

describe("the command line", () => {
  it("runs the daemon when nothing is said", () => {
    expect(parseCommandLine([])).toEqual({ command: "run", config: undefined, drainOnExit: false });
  });

  it("joins", () => {
    expect(parseCommandLine(["join", "http://a.example/", "tok", "--name", "n"])).toMatchObject({
      command: "join",
      url: "http://a.example",
      token: "tok",
      name: "n",
    });
  });

  it.each([
    ["--wat"],
    ["wat"],
    ["join"],
    ["join", "a.example", "t"],
    ["run", "more"],
    ["status", "--name", "x"],
  ])("does not guess: %s %s %s", (...argv) => {
    expect(() => parseCommandLine(argv.filter(Boolean))).toThrow(UsageError);
  });

  it("does not repeat a token that was given for the URL", () => {
    expect(() => parseCommandLine(["join", "sbe_secret", "http://a.example"])).toThrow(/^(?!.*sbe_)/);
  });
});
