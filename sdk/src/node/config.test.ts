import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Config } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbar-config-"));
afterAll(() => rmSync(folder, { recursive: true }));
const home = join(folder, "home");

describe("Config.fromEnv", () => {
  it("reads an env file; variables of the process win", () => {
    const file = join(folder, "env");
    writeFileSync(file, 'SANDBAR_URL=https://file\nSANDBAR_API_KEY="from file"\nSANDBAR_RUNTIME=node\n');
    const config = Config.fromEnv(file, { SANDBAR_URL: "https://process", HOME: home });
    expect(config).toMatchObject({
      url: "https://process",
      apiKey: "from file",
      session: { runtime: "node" },
    });
  });

  it("finds the key that sandbar up wrote, and shows it to this machine only", () => {
    writeFileSync(join(folder, "api-key"), "local-key\n");
    expect(Config.fromEnv(undefined, { SANDBAR_HOME: folder, HOME: home }).apiKey).toBe("local-key");
    const remote = Config.fromEnv(undefined, {
      SANDBAR_HOME: folder,
      HOME: home,
      SANDBAR_URL: "https://example.com",
    });
    expect(remote).toMatchObject({ apiKey: "", apiKeyFrom: "nowhere" });
  });

  it("a saved key goes to the saved URL only", () => {
    const SANDBAR_CONFIG = join(folder, "config.json");
    writeFileSync(SANDBAR_CONFIG, JSON.stringify({ url: "https://mine", api_key: "saved" }));
    expect(Config.fromEnv(undefined, { SANDBAR_CONFIG })).toMatchObject({
      url: "https://mine",
      apiKey: "saved",
    });
    expect(Config.fromEnv(undefined, { SANDBAR_CONFIG, SANDBAR_URL: "https://other" }).apiKey).toBe("");
  });
});
