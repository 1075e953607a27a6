/**
 * Secrets at rest. With SECRETS_KEY set (`wrangler secret put SECRETS_KEY`) they are encrypted before they reach D1, so a
 * copy of the database is of no use without it. D1 encrypts its disks in any case.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";
import type { Env } from "../env.ts";

const IV_BYTES = 12;

export async function seal(env: Env, value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const key = await secretKey(env);
  if (!key) return `plain:${base64(bytes)}`;
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, bytes));
  return `aes:${base64(iv)}:${base64(sealed)}`;
}

export async function unseal(env: Env, text: string): Promise<unknown> {
  const [kind, first = "", second = ""] = text.split(":");
  if (kind === "plain") return JSON.parse(new TextDecoder().decode(fromBase64(first)));
  const key = await secretKey(env);
  const opened =
    key &&
    (await crypto.subtle
      .decrypt({ name: "AES-GCM", iv: fromBase64(first) }, key, fromBase64(second))
      .catch(() => null));
  if (!opened)
    throw new SandbarError("INTERNAL", "SECRETS_KEY is not the one that the source was registered with");
  return JSON.parse(new TextDecoder().decode(opened));
}

async function secretKey({ SECRETS_KEY }: Env): Promise<CryptoKey | null> {
  if (!SECRETS_KEY) return null;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(SECRETS_KEY));
  return crypto.subtle.importKey("raw", digest, "AES-GCM", false, ["encrypt", "decrypt"]);
}

const base64 = (bytes: Uint8Array) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
