/**
 * Secrets at rest: encrypted with SECRETS_KEY before they reach D1, so that a copy of the database is of no use without
 * it. The key is made at set-up. While it is replaced there are several, of which the first seals and all open; the
 * schedule seals anew what an older one has sealed.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";
import { sha256Hex } from "./tokens.ts";

const IV_BYTES = 12;
const ID_CHARS = 8;

interface Keys {
  SECRETS_KEY?: string;
}

interface SealingKey {
  readonly id: string;
  readonly key: CryptoKey;
}

export async function seal(env: Keys, value: unknown): Promise<string> {
  const [first] = await keysOf(env);
  if (!first)
    throw new SandbarError(
      "INTERNAL",
      "SECRETS_KEY is not set, so no secret can be stored; see docs/configuration.md",
    );
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, first.key, bytes));
  return `aes2:${first.id}:${base64(iv)}:${base64(sealed)}`;
}

export async function unseal(env: Keys, text: string): Promise<unknown> {
  const [kind, ...parts] = text.split(":");
  // Of before every deployment had a key.
  if (kind === "plain") return JSON.parse(new TextDecoder().decode(fromBase64(parts[0]!)));
  // Of before signing keys were sealed.
  if (kind === "raw") return parts[0];
  const [iv = "", sealed = ""] = parts.slice(-2);
  const keys = await keysOf(env);
  const candidates = kind === "aes2" ? keys.filter(({ id }) => id === parts[0]) : keys;
  for (const { key } of candidates) {
    const opened = await crypto.subtle
      .decrypt({ name: "AES-GCM", iv: fromBase64(iv) }, key, fromBase64(sealed))
      .catch(() => null);
    if (opened) return JSON.parse(new TextDecoder().decode(opened));
  }
  throw new SandbarError("SECRET_UNREADABLE", "SECRETS_KEY has no key that this secret was sealed with");
}

/** The same secret under the newest key; null when it is already. */
export async function resealed(env: Keys, text: string): Promise<string | null> {
  const [first] = await keysOf(env);
  if (!first || text.startsWith(`aes2:${first.id}:`)) return null;
  return seal(env, await unseal(env, text));
}

async function keysOf({ SECRETS_KEY = "" }: Keys): Promise<SealingKey[]> {
  const secrets = SECRETS_KEY.split(/[,\n]/)
    .map((secret) => secret.trim())
    .filter(Boolean);
  return Promise.all(
    secrets.map(async (secret) => {
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
      const key = await crypto.subtle.importKey("raw", digest, "AES-GCM", false, ["encrypt", "decrypt"]);
      return { id: (await sha256Hex(`sandbar/${secret}`)).slice(0, ID_CHARS), key };
    }),
  );
}

const base64 = (bytes: Uint8Array) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
