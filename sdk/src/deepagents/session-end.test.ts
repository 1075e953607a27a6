import { describe, expect, it } from "vitest";
import { SandbarError } from "../errors.ts";
import { record } from "../fake-server.test-support.ts";
import { fileError } from "./file-error.ts";
import { endedWithSession, saysSessionEnded } from "./session-end.ts";

const lost = { variables: "lost", files: "lost" } as const;
const variablesLost = { variables: "lost", files: "kept" } as const;
const named = (name: string) => ({ error: { name, value: "", traceback: "" } });

describe("a session is over", () => {
  it.each([
    ["SESSION_ENDED", "The session is lost", true],
    ["SESSION_STOPPED", "deleted", true],
    ["CONTAINER_DIED", "The container died", true],
    ["HOST_LOST", "The host was lost", true],
    ["NOT_FOUND", "No such session", true],
    ["NOT_FOUND", "this host does not have the session", true],
    ["NOT_FOUND", "no such file: /session/No such session", false],
    ["HOST_UNREACHABLE", "The session runs on there", false],
    ["SESSION_NOT_READY", "The session is being created", false],
    ["KERNEL_DIED", "exit code 1", false],
  ])("by the refusal %s (%s): %s", (code, detail, over) => {
    expect(saysSessionEnded(new SandbarError({ code, detail }))).toBe(over);
  });

  it("when what ran ended with it, whichever way", () => {
    expect(endedWithSession(record("died", { state: variablesLost, ...named("CONTAINER_DIED") }))).toBe(true);
    expect(endedWithSession(record("died", { state: lost, ...named("HOST_LOST") }))).toBe(true);
    expect(endedWithSession(record("interrupted", { state: lost, ...named("SESSION_STOPPED") }))).toBe(true);
    expect(endedWithSession(record("unknown", { state: lost, ...named("OUTCOME_UNKNOWN") }))).toBe(true);
    expect(endedWithSession(record("timeout", { state: lost, ...named("EXECUTION_TIMEOUT") }))).toBe(true);
  });

  it("but not when only a kernel died, or the code's own error has such a name", () => {
    expect(endedWithSession(record("ok"))).toBe(false);
    expect(endedWithSession(record("died", { state: variablesLost, ...named("OOM_KILLED") }))).toBe(false);
    expect(endedWithSession(record("unknown", { state: variablesLost, ...named("OUTCOME_UNKNOWN") }))).toBe(
      false,
    );
    expect(endedWithSession(record("error", named("HOST_LOST")))).toBe(false);
  });

  it("and a session that is missing is no missing file", () => {
    expect(fileError(new SandbarError({ code: "NOT_FOUND", detail: "No such session" }))).toBe(null);
    expect(fileError(new SandbarError({ code: "NOT_FOUND", detail: "no such file" }))).toBe("file_not_found");
  });
});
