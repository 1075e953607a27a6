import { existsSync } from "node:fs";

/**
 * The PEM file with the certificate authorities that image builds shall trust, for networks whose proxy signs with
 * a CA of its own. Only build steps see it; it does not get into an image.
 */
export function caBundleFile(env: NodeJS.ProcessEnv = process.env): string | undefined {
  if (env.SANDBAR_CA_BUNDLE !== undefined) {
    if (env.SANDBAR_CA_BUNDLE === "") return undefined;
    if (!existsSync(env.SANDBAR_CA_BUNDLE)) {
      throw new Error(`SANDBAR_CA_BUNDLE names ${env.SANDBAR_CA_BUNDLE}, which does not exist.`);
    }
    return env.SANDBAR_CA_BUNDLE;
  }
  return [env.SSL_CERT_FILE, env.NODE_EXTRA_CA_CERTS].find((file) => file && existsSync(file));
}
