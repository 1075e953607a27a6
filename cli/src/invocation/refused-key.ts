/** @module Whose fault a refused key is: commands take theirs from several places, and not always from the one in mind. */
import type { Config } from "@sandbar/sdk/node";

type Used = Pick<Config, "url" | "apiKey" | "apiKeyFrom">;

let used: Used | null = null;

/** The key that the running command sends. */
export function rememberKey({ url, apiKey, apiKeyFrom }: Used): void {
  used = { url, apiKey, apiKeyFrom };
}

export function aboutRefusedKey(key: Used | null = used): { detail: string; hint: string } | null {
  if (key === null) return null;
  if (key.apiKey === "")
    return {
      detail: `${key.url} wants an API key, and none was found`,
      hint: "Set SANDBAR_API_KEY, or save one: sandbar config set api_key <key>.",
    };
  return {
    detail: `${key.url} does not know the API key ${key.apiKey.slice(0, 8)}… from ${key.apiKeyFrom}`,
    hint: "It may be another server's, expired or removed. `sandbar config` shows where settings come from.",
  };
}
