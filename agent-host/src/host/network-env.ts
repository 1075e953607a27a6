/** @module How this machine reaches package indexes: its own variables. */

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
const INDEXES = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "NPM_CONFIG_REGISTRY"];

export function networkEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  const given: NodeJS.ProcessEnv = {
    ...env,
    NPM_CONFIG_REGISTRY: env.NPM_CONFIG_REGISTRY ?? env.npm_config_registry,
  };
  const found = [...PROXIES, ...INDEXES].map((name) => [name, given[name] ?? ""] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== ""));
}
