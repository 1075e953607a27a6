/** @module What the local server needs of wrangler.toml, so that one file describes the Worker everywhere. */
import { unstable_readConfig } from "wrangler";

export interface WranglerConfig {
  compatibilityDate: string;
  compatibilityFlags: string[];
  vars: Record<string, string>;
  objects: { name: string; className: string }[];
}

export function readWranglerConfig(path: string): WranglerConfig {
  const config = unstable_readConfig({ config: path }, { hideWarnings: true });
  return {
    compatibilityDate: config.compatibility_date!,
    compatibilityFlags: config.compatibility_flags,
    vars: Object.fromEntries(Object.entries(config.vars).map(([name, value]) => [name, String(value)])),
    objects: (config.durable_objects.bindings as { name: string; class_name: string }[]).map((binding) => ({
      name: binding.name,
      className: binding.class_name,
    })),
  };
}
