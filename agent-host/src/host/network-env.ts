/** @module How this machine reaches package indexes, for containers that shall reach them too. */
import type { Config } from "./config.ts";

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
const INDEXES = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "NPM_CONFIG_REGISTRY"];
const CA_VARIABLES = [
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "PIP_CERT",
  "NODE_EXTRA_CA_CERTS",
];
const CA_INSIDE = "/opt/sandbar/ca.pem";

export function networkEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  const given: NodeJS.ProcessEnv = {
    ...env,
    NPM_CONFIG_REGISTRY: env.NPM_CONFIG_REGISTRY ?? env.npm_config_registry,
  };
  const found = [...PROXIES, ...INDEXES].map((name) => [name, given[name] ?? ""] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== ""));
}

/** Docker's bind strings and variables. A session is not told addresses that carry a password; an installation needs them. */
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
