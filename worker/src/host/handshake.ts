/** @module Proof that a daemon holds its host's key. */
import { importJWK, jwtVerify } from "jose";

/** True when the JWT was made over this nonce, for this host, with the private half of `publicKey` (Ed25519 `x`). */
export async function provesHost(
  proof: string,
  expected: { host: string; nonce: string; publicKey: string },
): Promise<boolean> {
  try {
    const key = await importJWK({ kty: "OKP", crv: "Ed25519", x: expected.publicKey }, "EdDSA");
    const { payload } = await jwtVerify(proof, key, {
      algorithms: ["EdDSA", "Ed25519"],
      subject: expected.host,
    });
    return payload.nonce === expected.nonce;
  } catch {
    return false;
  }
}
