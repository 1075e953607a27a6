/** @module How a home becomes a host: a key is made here and registered with a one-time token. */
import { JoinAnswerSchema, ProblemSchema } from "@sandbar/shared";
import { exportJWK, generateKeyPair } from "jose";
import { wasRemoved } from "./control-plane/was-removed.ts";
import { clearFormerHost } from "./former-host.ts";
import type { Config } from "./host/config.ts";
import {
  type Identity,
  IdentityError,
  IdentitySchema,
  identityFile,
  readIdentity,
  writeIdentity,
} from "./host/identity.ts";
import type { Log } from "./host/log.ts";

export interface Enrollment {
  readonly url: string;
  readonly token: string;
  readonly name: string;
}

/** A home that belongs to a host becomes another one only when the control plane has removed the first. */
export async function join(config: Config, { url, token, name }: Enrollment, log: Log): Promise<Identity> {
  const known = readIdentity(config.home);
  if (known) {
    const knownUrl = config.url ?? known.url;
    // Its sessions carry the old id: under a new one nobody would own them.
    if (!(await wasRemoved(knownUrl, known.host_id)))
      throw new IdentityError(
        `${config.home} belongs to ${known.host_id} of ${knownUrl} already. To join again, remove that host there ` +
          `(sandbar hosts rm); if nothing answers there any more, drain it and remove ${identityFile(config.home)}`,
      );
    // Before the token is used up: what fails here can be tried again.
    await clearFormerHost(config, known.host_id, log);
  }
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
  writeIdentity(config.home, identity);
  return identity;
}
