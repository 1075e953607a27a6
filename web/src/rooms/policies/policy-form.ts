/** @module What the form for a tenant's policy holds, and the policy that it means. Empty: as for all tenants. */
import type { EngineName, Policy } from "@sandbar/sdk";

/** In the place of a tenant's name. */
export const ALL_TENANTS = "*";

export const ALLOWS = [
  ["egress", "Internet and hosts by name"],
  ["bind", "Folders of the host (BIND)"],
  ["volumes", "Volumes"],
  ["dependencies", "Packages"],
  ["images", "Images of its own"],
  ["local_datasets", "Host's data (LOCAL_RO)"],
  ["imports", "Importing from the host"],
] as const;

export const MAXIMA = [
  ["memory_mb", "Memory, MB"],
  ["cpus", "CPUs"],
  ["pids", "Processes"],
  ["tmpfs_mb", "Files in memory, MB"],
  ["timeout_s", "Cell timeout, s"],
  ["idle_ttl_s", "Idle, s"],
  ["max_lifetime_s", "Life, s"],
] as const;

export const SHARES = [
  ["sessions", "Sessions"],
  ["memory_mb", "Memory, MB"],
  ["cpus", "CPUs"],
  ["host_percent", "Of one host, %"],
  ["volumes", "Volumes"],
  ["volume_mb", "In volumes, MB"],
  ["requests_per_minute", "Requests a minute"],
  ["executions_per_minute", "Executions a minute"],
] as const;

type AllowName = (typeof ALLOWS)[number][0];
type MaxName = (typeof MAXIMA)[number][0];
type ShareName = (typeof SHARES)[number][0];

export type Said = "" | "yes" | "no";

export interface PolicyForm {
  allow: Record<AllowName, Said>;
  /** Folders below which it may import, a line each; with them `allow.imports` is "yes". */
  folders: string;
  engines: "" | EngineName | "both";
  isolation: "" | "any" | "container" | "sysbox" | "gvisor" | "kata";
  max: Record<MaxName, string>;
  shares: Record<ShareName, string>;
}

const NO_LIMIT = /^(none|no limit|unlimited)$/i;

const said = (value: boolean | undefined): Said => (value === undefined ? "" : value ? "yes" : "no");

function texts<Name extends string>(
  fields: readonly (readonly [Name, string])[],
  values: Partial<Record<Name, number | null>> | undefined,
): Record<Name, string> {
  const text = (value: number | null | undefined) =>
    value === undefined ? "" : value === null ? "none" : String(value);
  return Object.fromEntries(fields.map(([name]) => [name, text(values?.[name])])) as Record<Name, string>;
}

export function formOf({ allow = {}, engines, isolation, max, shares }: Policy): PolicyForm {
  const { imports } = allow;
  const named = ALLOWS.map(([name]) => [
    name,
    name === "imports" ? (Array.isArray(imports) ? "yes" : said(imports)) : said(allow[name]),
  ]);
  return {
    allow: Object.fromEntries(named) as PolicyForm["allow"],
    folders: Array.isArray(imports) ? imports.join("\n") : "",
    engines: engines === undefined ? "" : engines.length > 1 ? "both" : engines[0]!,
    isolation: isolation === undefined ? "" : (isolation ?? "any"),
    max: texts(MAXIMA, max),
    shares: texts(SHARES, shares),
  };
}

/** The policy, or what is wrong with which field. The server checks everything again. */
export function policyOf(form: PolicyForm): { policy: Policy } | { wrong: Record<string, string> } {
  const wrong: Record<string, string> = {};
  const numbers = (group: "max" | "shares") => {
    const found: Record<string, number | null> = {};
    for (const [name, text] of Object.entries(form[group])) {
      const clean = text.trim();
      if (clean === "") continue;
      if (group === "shares" && name !== "host_percent" && NO_LIMIT.test(clean)) found[name] = null;
      else if (Number.isFinite(Number(clean))) found[name] = Number(clean);
      else wrong[`${group}.${name}`] = "A number, please.";
    }
    return found;
  };
  const allow: Record<string, boolean | string[]> = {};
  for (const [name, value] of Object.entries(form.allow)) if (value !== "") allow[name] = value === "yes";
  const folders = form.folders
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  if (folders.length > 0 && form.allow.imports === "yes") allow.imports = folders;
  const [max, shares] = [numbers("max"), numbers("shares")];
  if (Object.keys(wrong).length > 0) return { wrong };
  const policy = {
    ...(Object.keys(allow).length > 0 ? { allow } : {}),
    ...(form.engines === ""
      ? {}
      : { engines: form.engines === "both" ? ["container", "wasm"] : [form.engines] }),
    ...(form.isolation === "" ? {} : { isolation: form.isolation === "any" ? null : form.isolation }),
    ...(Object.keys(max).length > 0 ? { max } : {}),
    ...(Object.keys(shares).length > 0 ? { shares } : {}),
  };
  return { policy: policy as Policy };
}

/** A line for a list: "no egress; memory_mb ≤ 4096; 20 sessions". */
export function inWords({ allow = {}, engines, isolation, max = {}, shares = {} }: Policy): string {
  const words: string[] = [];
  for (const [name, value] of Object.entries(allow))
    words.push(
      Array.isArray(value) ? `imports below ${value.join(", ")}` : `${value ? "" : "no "}${spaced(name)}`,
    );
  if (engines) words.push(`in ${engines.join(" or ")}`);
  if (isolation) words.push(`behind ${isolation}`);
  for (const [name, value] of Object.entries(max)) words.push(`${spaced(name)} ≤ ${value}`);
  for (const [name, value] of Object.entries(shares))
    words.push(`${value ?? "unlimited"} ${spaced(name)} in all`);
  return words.join("; ");
}

const spaced = (name: string) => name.replaceAll("_", " ");
