import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { VERSION } from "../version.ts";
import { candidates } from "./completion.ts";
import { exitCodeOf } from "./exit-codes.ts";
import { age, clean, size, table } from "./output.ts";
import { program } from "./program.ts";

describe("the CLI's output", () => {
  it("lines up columns", () => {
    const text = table(
      [
        { a: "x", b: 1 },
        { a: "longer", b: 100 },
      ],
      [
        { title: "a", value: (row) => row.a },
        { title: "b", value: (row) => row.b, right: true },
      ],
    );
    expect(stripVTControlCharacters(text)).toBe("A         B\nx         1\nlonger  100\n");
  });

  it("lets nobody's name move the cursor", () => {
    expect(clean("\x1b[2Jevil\r\nname\x9b1m")).toBe("evil��name");
  });

  it("says sizes and ages as people do", () => {
    expect([size(999), size(1500), size(52_000_000)]).toEqual(["999 B", "1.5 kB", "52 MB"]);
    const now = Date.parse("2026-01-01T01:00:00Z");
    expect([age("2026-01-01T00:00:00Z", now), age("2026-01-01T01:00:30Z", now)]).toEqual([
      "60 min",
      "in 30 s",
    ]);
  });
});

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

  it("all have a description", () => {
    const names = program().commands.filter(
      (command) => !command.description() && !command.name().startsWith("_"),
    );
    expect(names.map((command) => command.name())).toEqual([]);
  });

  it("tell the package's version", () => {
    const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));
    expect(VERSION).toBe(manifest.version);
  });
});
