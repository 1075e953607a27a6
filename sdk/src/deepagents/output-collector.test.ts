import { describe, expect, it } from "vitest";
import { toExecution } from "../execution.ts";
import { record } from "../fake-server.test-support.ts";
import { OutputCollector } from "./output-collector.ts";

describe("a command's output for deepagents", () => {
  it("keeps the order of both streams, and the exit code", () => {
    const output = new OutputCollector(100);
    output.add("stdout", "a\n");
    output.add("stderr", "b\n");
    output.add("stdout", "c\n");
    expect(output.response(toExecution(record("error", { exit_code: 3 })), 1)).toEqual({
      output: "a\nb\nc\n",
      exitCode: 3,
      truncated: false,
    });
  });

  it("is cut at the limit and says so, also when the server dropped some", () => {
    const cut = new OutputCollector(3);
    cut.add("stdout", "abcdef");
    expect(cut.response(toExecution(record("ok", { exit_code: 0 })), 1)).toEqual({
      output: "abc\n\n... Output truncated at 3 characters.",
      exitCode: 0,
      truncated: true,
    });
    const dropped = new OutputCollector(100);
    dropped.add("stdout", "abc");
    expect(dropped.response(toExecution(record("ok", { truncated: { stdout: 10 } })), 1).truncated).toBe(
      true,
    );
  });

  it("tells timeouts and deaths by their usual exit codes", () => {
    const end = (status: "timeout" | "died" | "interrupted" | "unknown") =>
      new OutputCollector(9).response(toExecution(record(status)), 5);
    expect(end("timeout")).toMatchObject({
      exitCode: 124,
      output: "\nError: Command timed out after 5 seconds.",
    });
    expect([end("died"), end("interrupted"), end("unknown")].map(({ exitCode }) => exitCode)).toEqual([
      137,
      130,
      null,
    ]);
  });
});
