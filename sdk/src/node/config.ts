/** @module Settings for Node programs: environment, an env file, and the key that `sandbar up` wrote. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { type CreateSession, readJson } from "@sandbar/shared";
import { z } from "zod";
import { Sandbar } from "../client.ts";
import { configFromEnv, type Env, sessionDefaultsFromEnv } from "../config.ts";

export class Config {
  readonly url: string;
  readonly apiKey: string;
  /** Where the API key came from, for error messages. */
  readonly apiKeyFrom: string;
  /** What new sessions are like unless a call says otherwise. */
  readonly session: Partial<CreateSession>;

  private constructor(env: Env, saved: SavedConfig) {
    this.url = env.SANDBAR_URL || saved.url || configFromEnv(env).url;
    const found = findKey(env, saved, this.url);
    this.apiKey = found.key;
    this.apiKeyFrom = found.from;
    this.session = sessionDefaultsFromEnv(env);
  }

  /** Variables of the process win over those of the file at `path`, and these over the saved config file. */
  static fromEnv(path?: string, env: Env = process.env): Config {
    const fromFile = path === undefined ? {} : parseEnv(readFileSync(path, "utf8"));
    return new Config({ ...fromFile, ...env }, readSavedConfig(env));
  }

  client(): Sandbar {
    return new Sandbar({ url: this.url, apiKey: this.apiKey });
  }
}

const SavedConfigSchema = z.object({ url: z.string().optional(), api_key: z.string().optional() });

export type SavedConfig = z.infer<typeof SavedConfigSchema>;

export function savedConfigPath(env: Env = process.env): string {
  return (
    env.SANDBAR_CONFIG ||
    join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "sandbar/config.json")
  );
}

export function readSavedConfig(env: Env = process.env): SavedConfig {
  const path = savedConfigPath(env);
  if (!existsSync(path)) return {};
  const { success, data } = SavedConfigSchema.safeParse(readJson(readFileSync(path, "utf8")));
  if (success) return data;
  throw new Error(
    `${path} is not a config file of Sandbar: it must be JSON, {"url": "http…", "api_key": "sbk_…"}`,
  );
}

function findKey(env: Env, saved: SavedConfig, url: string): { key: string; from: string } {
  if (env.SANDBAR_API_KEY) return { key: env.SANDBAR_API_KEY, from: "SANDBAR_API_KEY" };
  if (env.SANDBAR_API_KEY_FILE) return fromFile(env.SANDBAR_API_KEY_FILE);
  if (saved.api_key && (!env.SANDBAR_URL || env.SANDBAR_URL === saved.url))
    return { key: saved.api_key, from: savedConfigPath(env) };
  // The admin key of this machine is nobody else's business.
  if (isThisMachine(url))
    for (const home of [env.SANDBAR_HOME, ".sandbar", resolve(import.meta.dirname, "../../../.sandbar")])
      if (home && existsSync(join(home, "api-key"))) return fromFile(join(home, "api-key"));
  return { key: "", from: "nowhere" };
}

function fromFile(path: string): { key: string; from: string } {
  try {
    return { key: readFileSync(path, "utf8").trim(), from: resolve(path) };
  } catch (cause) {
    throw new Error(`cannot read the API key: ${(cause as Error).message}`, { cause });
  }
}

function isThisMachine(url: string): boolean {
  return URL.canParse(url) && ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);
}
