/** @module A certificate authority that one sandbox trusts, and the certificates that it issues. */
import { webcrypto } from "node:crypto";
import { isIP } from "node:net";

/** As PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
/** Clocks in images may be behind, and no session lives that long. */
const BEFORE_MS = 24 * 3600_000;
const AFTER_MS = 365 * 24 * 3600_000;

export async function makeAuthority(name: string): Promise<Certificate> {
  const x509 = await library();
  const keys = await newKeys();
  const usage = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    keys,
    signingAlgorithm: ALGORITHM,
    ...lifetime(),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usage, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: certificate.toString("pem"), key: await pemOf(keys.privateKey) };
}

/** `host`: a name, or an address without brackets. */
export async function issue(authority: Certificate, host: string): Promise<Certificate> {
  const x509 = await library();
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    // A common name has 64 characters at most, and nobody looks at it.
    subject: [{ CN: ["sandbar"] }],
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: await signingKey(authority.key),
    signingAlgorithm: ALGORITHM,
    ...lifetime(),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([{ type: isIP(host) ? "ip" : "dns", value: host }]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { cert: certificate.toString("pem"), key: await pemOf(keys.privateKey) };
}

/** Loaded by the first session that needs it: that takes a while, and most daemons never do. */
async function library() {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as typeof crypto);
  return x509;
}

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

const lifetime = () => ({
  notBefore: new Date(Date.now() - BEFORE_MS),
  notAfter: new Date(Date.now() + AFTER_MS),
});

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${bytes.match(/.{1,64}/g)!.join("\n")}\n-----END PRIVATE KEY-----\n`;
}

function signingKey(pem: string): Promise<webcrypto.CryptoKey> {
  const bytes = Buffer.from(pem.replace(/-----[^-]+-----/g, ""), "base64");
  return webcrypto.subtle.importKey("pkcs8", bytes, ALGORITHM, false, ["sign"]);
}
