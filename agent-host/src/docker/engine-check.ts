/** @module What an operator should know about the engine below all sandboxes, told once at the start. */
import { existsSync, readFileSync } from "node:fs";
import type Docker from "dockerode";

/** The first that have no way out of a container that was public when this was written: runc's of November 2025, Docker's of 2024. */
const SAFE = { docker: "27.1.1", runc: "1.2.8" };
const APPARMOR = "/sys/module/apparmor/parameters/enabled";

export interface EngineReport {
  readonly warnings: readonly string[];
  /** It knows few users, and none of the machine's own. */
  readonly remapped: boolean;
  /** Names of the OCI runtimes that it has. */
  readonly runtimes: readonly string[];
}

export async function checkEngine(docker: Docker): Promise<EngineReport> {
  const [info, version] = await Promise.all([docker.info(), docker.version()]);
  const components = (version as { Components?: { Name: string; Version: string }[] }).Components ?? [];
  const versionOf = (name: string) => components.find(({ Name }) => Name === name)?.Version;
  // Others that speak Docker's language count in numbers of their own.
  const found = { docker: versionOf("Engine"), runc: versionOf("runc") };
  const options: string[] = info.SecurityOptions ?? [];
  const has = (name: string) => options.some((option) => option.split(",").includes(`name=${name}`));
  const enabled = existsSync(APPARMOR) && readFileSync(APPARMOR, "utf8").startsWith("Y");
  return {
    warnings: warningsFor(found, enabled && has("apparmor")),
    remapped: has("userns") || has("rootless"),
    runtimes: Object.keys(info.Runtimes ?? {}),
  };
}

export function warningsFor(
  found: { docker?: string | undefined; runc?: string | undefined },
  apparmor: boolean,
): string[] {
  const warnings = [];
  for (const [name, least] of Object.entries(SAFE) as [keyof typeof SAFE, string][]) {
    const version = found[name];
    if (version !== undefined && isOlder(version, least))
      warnings.push(
        `${name} ${version} is older than ${least}, whose known escapes are closed; a distribution may have closed them under the old number`,
      );
  }
  if (!apparmor) warnings.push("AppArmor does not confine containers here: one wall less");
  return warnings;
}

export function isOlder(version: string, least: string): boolean {
  const numbers = (text: string) => (/^\d+(\.\d+)*/.exec(text)?.[0] ?? "").split(".").map(Number);
  const [a, b] = [numbers(version), numbers(least)];
  for (const [index, wanted] of b.entries()) if ((a[index] ?? 0) !== wanted) return (a[index] ?? 0) < wanted;
  return false;
}
