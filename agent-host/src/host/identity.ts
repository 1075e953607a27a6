/** @module Who this host is: an Ed25519 key made here, registered once with a one-time token, proven at every connection. */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { importJWK, SignJWT } from "jose";
import { z } from "zod";

export const IdentitySchema = z.object({
  host_id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  name: z.string(),
  url: z.string(),
  private_key: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string(), d: z.string() }),
});
export type Identity = z.infer<typeof IdentitySchema>;

export class IdentityError extends Error {}

export function hostFolder(home: string): string {
  const folder = path.join(home, "host");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  return folder;
}

export function identityFile(home: string): string {
  return path.join(home, "host", "identity.json");
}

export function writeIdentity(home: string, identity: Identity): void {
  hostFolder(home);
  const file = identityFile(home);
  writeFileSync(`${file}.new`, `${JSON.stringify(identity, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

export function readIdentity(home: string): Identity | null {
  let text: string;
  try {
    text = readFileSync(identityFile(home), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const parsed = IdentitySchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new IdentityError(`${identityFile(home)} is damaged; join again`);
  return parsed.data;
}

export async function createSigner(identity: Identity): Promise<(nonce: string) => Promise<string>> {
  const key = await importJWK(identity.private_key, "EdDSA");
  return (nonce) =>
    new SignJWT({ nonce })
      .setProtectedHeader({ alg: "EdDSA" })
      .setSubject(identity.host_id)
      .setIssuedAt()
      .setExpirationTime("2m")
      .sign(key);
}
