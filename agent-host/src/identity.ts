/** @module Who this host is: an Ed25519 key made here, registered once with a one-time token, proven at every connection. */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { JoinAnswerSchema, ProblemSchema } from "@sandbar/shared";
import { exportJWK, generateKeyPair, importJWK, SignJWT } from "jose";
import { z } from "zod";

const IdentitySchema = z.object({
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

function identityFile(home: string): string {
  return path.join(home, "host", "identity.json");
}

export async function join(home: string, url: string, token: string, name: string): Promise<Identity> {
  const known = readIdentity(home);
  // Its sessions carry the old id: under a new one nobody would own them.
  if (known)
    throw new IdentityError(
      `${home} belongs to ${known.host_id} of ${known.url} already; drain it and remove ${identityFile(home)} to join again`,
    );
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  const { kty, crv, x } = await exportJWK(publicKey);
  const answer = await fetch(`${url}/agent/join`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token, name, public_key: { kty, crv, x } }),
    signal: AbortSignal.timeout(30_000),
  });
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok) {
    const problem = ProblemSchema.safeParse(body);
    throw new IdentityError(
      problem.success
        ? `${problem.data.code}: ${problem.data.detail}${problem.data.hint ? `\n${problem.data.hint}` : ""}`
        : `${url}/agent/join answered ${answer.status}`,
    );
  }
  const joined = JoinAnswerSchema.safeParse(body);
  if (!joined.success) throw new IdentityError(`${url}/agent/join did not answer with a host id`);
  const identity = IdentitySchema.parse({
    host_id: joined.data.host_id,
    name,
    url,
    private_key: await exportJWK(privateKey),
  });
  hostFolder(home);
  const file = identityFile(home);
  writeFileSync(`${file}.new`, `${JSON.stringify(identity, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return identity;
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
