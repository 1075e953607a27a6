/** @module The agent's Worker beside the control plane's, in the same workerd. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { METADATA_V4 } from "@sandbar/shared";
import { moduleFiles } from "./module-files.ts";
import { readWranglerConfig } from "./wrangler-config.ts";

const CONFIG = resolve(import.meta.dirname, "../../agent/wrangler.toml");
const NAME = "sandbar-agent";
const NETWORK = "sandbar-agent-network";

/** What workerd lets it reach, after names were resolved: models' addresses are the tenants' to choose. */
const NETWORKS: Record<string, string[]> = {
  none: ["public"],
  loopback: ["public", "127.0.0.0/8", "::1/128"],
  all: ["public", "private", "local"],
};

/** `script` is its module. */
export function agentWorker(script: string, privateUrls: string) {
  const bundle = dirname(script);
  const config = readWranglerConfig(CONFIG);
  const worker = {
    name: NAME,
    modulesRoot: bundle,
    modules: moduleFiles(bundle),
    compatibilityDate: config.compatibilityDate,
    compatibilityFlags: config.compatibilityFlags,
    bindings: config.vars,
    d1Databases: { DB: "sandbar" },
    durableObjects: Object.fromEntries(
      config.objects.map(({ name, className }) => [name, { className, useSQLite: true }]),
    ),
    serviceBindings: { SANDBAR: { name: "sandbar", entrypoint: "AgentDoor" } },
    outboundService: NETWORK,
  };
  // Miniflare takes no network as the place where fetch goes, but a Worker that has one.
  const network = {
    name: NETWORK,
    modules: true,
    script: "export default { fetch: (request, env) => env.NETWORK.fetch(request) }",
    compatibilityDate: config.compatibilityDate,
    serviceBindings: {
      NETWORK: {
        network: {
          allow: NETWORKS[privateUrls] ?? NETWORKS.none!,
          deny: [...METADATA_V4],
          tlsOptions: { trustBrowserCas: true, trustedCertificates: extraCertificates() },
        },
      },
    },
  };
  return { workers: [worker, network], binding: { name: NAME, entrypoint: "AgentEntrypoint" } };
}

function extraCertificates(): string[] {
  const file = process.env.NODE_EXTRA_CA_CERTS;
  const text = file && existsSync(file) ? readFileSync(file, "utf8") : "";
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}
