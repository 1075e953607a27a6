/** @module The variables by which programs in the sandbox find its way out. */
import { PROXY_PORT, type SessionSpec } from "@sandbar/shared";
import { BUNDLE_INSIDE } from "./trust.ts";

const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
const DIRECT = "localhost,127.0.0.1,::1";

const VARIABLES = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  NO_PROXY: DIRECT,
  http_proxy: PROXY,
  https_proxy: PROXY,
  no_proxy: DIRECT,
  // Node's own fetch and http look at those above only then.
  NODE_USE_ENV_PROXY: "1",
  SSL_CERT_FILE: BUNDLE_INSIDE,
  REQUESTS_CA_BUNDLE: BUNDLE_INSIDE,
  CURL_CA_BUNDLE: BUNDLE_INSIDE,
  GIT_SSL_CAINFO: BUNDLE_INSIDE,
  PIP_CERT: BUNDLE_INSIDE,
  AWS_CA_BUNDLE: BUNDLE_INSIDE,
  NODE_EXTRA_CA_CERTS: BUNDLE_INSIDE,
};

/** Of a session's kernels and processes; what its creator has set counts. */
export function codeEnv({ rules, env }: Pick<SessionSpec, "rules" | "env">): Record<string, string> {
  return rules ? { ...VARIABLES, ...env } : env;
}
