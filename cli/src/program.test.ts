import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { candidates } from "./commands/completion.ts";
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

  it("are all on their page", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/cli.md"), "utf8");
    const names = program().commands.map((command) => command.name());
    expect(names.filter((name) => !name.startsWith("_") && !page.includes(`\`sandbar ${name}`))).toEqual([]);
  });
});
