import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { candidates, wantedBy } from "./commands/completion.ts";
import { examplesOf } from "./invocation/examples.ts";
import { exitCodeOf } from "./invocation/exit-codes.ts";
import { program } from "./program.ts";

describe("the CLI's commands", () => {
  it("pass the code's status through", () => {
    const statuses = ["ok", "error", "timeout", "interrupted", "died", "unknown"] as const;
    expect(statuses.map((status) => exitCodeOf({ status }))).toEqual([0, 1, 124, 130, 137, 126]);
    expect(exitCodeOf({ status: "error", exit_code: 3 })).toBe(3);
    expect(exitCodeOf({ status: "ok", exit_code: 7 })).toBe(7);
  });

  it("complete to verbs and options", () => {
    expect(candidates(program(), [])).toEqual(expect.arrayContaining(["run", "sessions", "--url"]));
    expect(candidates(program(), ["sessions"])).toEqual(expect.arrayContaining(["list", "stop"]));
    expect(candidates(program(), ["run"])).toEqual(expect.arrayContaining(["--session", "--timeout"]));
  });

  const all = (command: Command): Command[] =>
    command.commands.flatMap((sub) => (sub.name().startsWith("_") ? [] : [sub, ...all(sub)]));
  const path = (command: Command): string =>
    command.parent ? `${path(command.parent)} ${command.name()}` : command.name();

  it("all have a description", () => {
    const lacking = all(program()).filter((command) => !command.description());
    expect(lacking.map(path)).toEqual([]);
  });

  it("all have examples, which name commands and options that there are", () => {
    const root = program();
    const told = ["secrets", "policy", "network", "settings", "chat"];
    const own = (command: Command): boolean =>
      told.includes(command.name()) || (command.parent !== null && own(command.parent));
    const lacking = all(root).filter(
      (command) =>
        !["up", "down"].includes(command.name()) && !own(command) && examplesOf(command).length === 0,
    );
    expect(lacking.map(path)).toEqual([]);
    for (const command of all(root))
      for (const line of examplesOf(command)) {
        const words = /sandbar (.*?)(?: {2}|$)/
          .exec(line)![1]!
          .replaceAll(/'[^']*'/g, "x")
          .split(/[\s")]+/);
        let at = root;
        for (const word of words) at = at.commands.find((sub) => sub.name() === word) ?? at;
        const known = at.options.flatMap(({ long, short }) => [long, short]);
        expect(
          words.filter((word) => /^--?[a-z]/.test(word) && !known.includes(word)),
          line,
        ).toEqual([]);
      }
  });

  it("complete to sessions and hosts where one is named", () => {
    const wanted = (...words: string[]) => wantedBy(program(), words)?.name() ?? null;
    expect(wanted("sessions", "get")).toBe("session");
    expect(wanted("sessions", "stop", "one")).toBe("session");
    expect(wanted("hosts", "drain")).toBe("host");
    expect(wanted("hosts", "drain", "vps-1")).toBeNull();
    expect(wanted("run", "--session")).toBe("session");
    expect(wanted("run", "-t", "5", "--session")).toBe("session");
    expect(wanted("run", "-s", "thread", "--keep")).toBe("file");
    expect(wanted("terminal")).toBe("session");
  });

  it("are all on their page", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/cli.md"), "utf8");
    const names = program().commands.map((command) => command.name());
    expect(names.filter((name) => !name.startsWith("_") && !page.includes(`\`sandbar ${name}`))).toEqual([]);
  });
});
