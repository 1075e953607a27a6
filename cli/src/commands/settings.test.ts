import { describe, expect, it } from "vitest";
import { changeOf, next } from "./settings.ts";

describe("a setting of the agent", () => {
  it("goes to the API as what it is", () => {
    expect(changeOf("model", "ollama:qwen3")).toEqual({ model: "ollama:qwen3" });
    expect(changeOf("temperature", "0.2")).toEqual({ temperature: 0.2 });
    expect(changeOf("approval", "on")).toEqual({ approval: true });
    expect(changeOf("read_only", "no")).toEqual({ read_only: false });
    expect(changeOf("vision", "auto")).toEqual({ vision: null });
    expect(changeOf("prompt", null)).toEqual({ prompt: null });
    expect(changeOf("api_key", "sk", { provider: "groq" })).toEqual({ api_keys: { groq: "sk" } });
  });

  it("that makes no sense is refused before anything is asked", () => {
    expect(() => changeOf("iterations", "many")).toThrow("iterations is a number");
    expect(() => changeOf("approval", "maybe")).toThrow("approval is on or off");
    expect(() => changeOf("model", "x:y", { provider: "groq" })).toThrow("--provider is for api_key");
  });

  it("that is missing is named with the command that sets it", () => {
    expect(next({ ready: true, model: "a:b" })).toBe("");
    expect(next({ ready: false, model: null })).toContain("sandbar settings set model");
    expect(next({ ready: false, model: "openai:x" })).toContain("sandbar settings set api_key");
  });
});
