import { describe, expect, it } from "vitest";
import { INSTALL_HELP, parseInstallWords, WrongWords } from "./install-command-line.ts";

const LINE = ["install", "--url", "https://sandbar.test/", "--token", "sbe_1"];

describe("the words of an installation", () => {
  it("are understood", () => {
    expect(
      parseInstallWords([...LINE, "--name", "vps", "--capacity", "40", "--runtimes", "python, r"]),
    ).toEqual({
      verb: "install",
      root: "/",
      dryRun: false,
      url: "https://sandbar.test",
      token: "sbe_1",
      name: "vps",
      capacity: 40,
      runtimes: ["python", "r"],
      home: undefined,
    });
    expect(parseInstallWords(["uninstall", "--keep-data", "--yes"])).toMatchObject({
      keepData: true,
      yes: true,
    });
    expect(parseInstallWords(["doctor", "--json"])).toMatchObject({ json: true, url: undefined });
  });

  it.each([
    [["install", "--token", "t"], /--url/],
    [["install", "--url", "https://a.test"], /sandbar hosts enroll/],
    [["install", "--url", "ftp://a.test", "--token", "t"], /http or https/],
    [[...LINE, "--capacity", "many"], /--capacity/],
    [[...LINE, "--runtimes", "cobol"], /python, node, r/],
    [["upgrade", "--now"], /--now/],
    [["uninstall", "everything"], /everything/],
  ])("are not guessed: %j", (words, why) => {
    expect(() => parseInstallWords(words)).toThrow(WrongWords);
    expect(() => parseInstallWords(words)).toThrow(why);
  });

  it.each(Object.keys(INSTALL_HELP) as (keyof typeof INSTALL_HELP)[])(
    "%s explains itself with examples",
    (verb) => {
      expect(parseInstallWords([verb, "--help"])).toEqual({ verb: "help", of: verb });
      expect(INSTALL_HELP[verb]).toMatch(new RegExp(`^Usage: agent-host ${verb}[^]*Examples:\n.*${verb}`));
    },
  );
});
