/** @module How this machine reaches package indexes, as Docker's bind strings and variables for containers that shall reach them too. */
import type { Config } from "../host/config.ts";

const CA_VARIABLES = [
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "PIP_CERT",
  "NODE_EXTRA_CA_CERTS",
];
const CA_INSIDE = "/opt/sandbar/ca.pem";

/** A session is not told addresses that carry a password; an installation needs them. */
export function networkSettings(
  { caBundle, networkEnv }: Pick<Config, "caBundle" | "networkEnv">,
  withPasswords: boolean,
): { binds: string[]; env: string[] } {
  const env = Object.entries(networkEnv)
    .filter(([, value]) => withPasswords || !/:\/\/[^/\s]*@/.test(value))
    .map(([name, value]) => `${name}=${value}`);
  if (!caBundle) return { binds: [], env };
  return {
    binds: [`${caBundle}:${CA_INSIDE}:ro`],
    env: [...env, ...CA_VARIABLES.map((name) => `${name}=${CA_INSIDE}`)],
  };
}
