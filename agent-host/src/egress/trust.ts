/**
 * Whom a sandbox trusts: the usual authorities, the operator's, and one of its own that nobody else knows. Its key stays
 * outside of the sandbox, in the box's folder: programs that run on after a restart of the daemon have loaded the rest.
 *
 * @module
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { rootCertificates } from "node:tls";
import { z } from "zod";
import { type Certificate, makeAuthority } from "./authority.ts";

/** As code in the sandbox finds it. */
export const BUNDLE_INSIDE = "/run/sandbar/network-ca.pem";
const BUNDLE = "network-ca.pem";
const KEY = "network-authority.json";

const CertificateSchema = z.object({ cert: z.string(), key: z.string() });

/** Makes the authority of a new box, before any code runs in it. `more`: a file of the operator's. */
export async function giveTrust(box: string, session: string, more: string | undefined): Promise<void> {
  const [authority, others] = await Promise.all([makeAuthority(`Sandbar ${session}`), authorities(more)]);
  const run = path.join(box, "run");
  await mkdir(box, { recursive: true, mode: 0o700 });
  await mkdir(run, { recursive: true });
  await writeFile(path.join(box, KEY), JSON.stringify(authority), { mode: 0o600 });
  await writeFile(path.join(run, BUNDLE), [...others, authority.cert].join("\n"), { mode: 0o644 });
}

export async function readAuthority(box: string): Promise<Certificate> {
  return CertificateSchema.parse(JSON.parse(await readFile(path.join(box, KEY), "utf8")));
}

/** Whom this host trusts when it speaks with servers itself. */
export async function authorities(more: string | undefined): Promise<string[]> {
  return more ? [...rootCertificates, await readFile(more, "utf8")] : [...rootCertificates];
}
