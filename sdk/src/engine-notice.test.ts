import { expect, it } from "vitest";
import { abilitiesInWords, engineNotice } from "./engine-notice.ts";
import { makeCodeSandboxTool, makeSandboxTools } from "./langchain/index.ts";

const names = (session: { engine?: "wasm" | "any" }) => makeSandboxTools({ session }).map(({ name }) => name);

it("a model is told what WebAssembly lacks, and nothing of containers", () => {
  expect(engineNotice("any")).toBeNull();
  expect(engineNotice("container")).toBeNull();
  expect(engineNotice("wasm")).toContain("no shell");
  expect(makeCodeSandboxTool({ session: { engine: "wasm" } }).description).toContain("no shell");
  expect(makeCodeSandboxTool().description).not.toContain("WebAssembly");
});

it("tools for WebAssembly have no terminal", () => {
  expect(names({})).toContain("terminal");
  expect(names({ engine: "any" })).toContain("terminal");
  expect(names({ engine: "wasm" })).not.toContain("terminal");
});

it("a session is described by what it has", () => {
  expect(
    abilitiesInWords({ engine: "container", languages: ["python", "bash"], capabilities: ["ports"] }),
  ).toBe("It is a container with python, bash. It can have: ports.");
  expect(abilitiesInWords({} as never)).toBe("");
});
