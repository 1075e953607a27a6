/** @module A session's dependencies as a list of names: which are names at all, what pip is asked for, whom a failure is about. */
import { type Language, SandbarError } from "@sandbar/shared";

export type DependencyList = Readonly<Record<string, string>>;

const NAMES: Partial<Record<Language, RegExp>> = {
  python: /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._-]+\])?$/,
  // Anything with a slash but no scope would be a repository of somebody's.
  node: /^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/i,
  r: /^[A-Za-z][A-Za-z0-9.]*[A-Za-z0-9]$/,
};

export function requireNames(runtime: Language, dependencies: DependencyList): void {
  const name = NAMES[runtime];
  if (!name)
    throw new SandbarError(
      "DEPENDENCY_FAILED",
      `${Object.keys(dependencies)[0]}: ${runtime} has no packages; choose the runtime python, node or r`,
    );
  for (const dependency of Object.keys(dependencies))
    if (!name.test(dependency))
      throw new SandbarError("DEPENDENCY_FAILED", `${dependency}: not the name of a ${runtime} package`);
}

export function pythonRequirements(dependencies: DependencyList): string[] {
  return Object.entries(dependencies).map(([name, version]) => name + pythonVersion(version));
}

function pythonVersion(version: string): string {
  const text = version.trim();
  if (isLatest(text)) return "";
  return /^[<>=!~]/.test(text) ? text : `==${text}`;
}

export function isLatest(version: string): boolean {
  return version === "" || version === "*" || version === "latest";
}

/** The dependency that the installer complains about, and its own words. */
export function explainFailure(dependencies: DependencyList, output: string, stopped: string | null): string {
  const lines = output.split(/[\r\n]+/).filter((line) => line.trim());
  const complaints = lines.filter((line) =>
    /error|fail|not found|no matching|unavailable|invalid/i.test(line),
  );
  const names = Object.keys(dependencies);
  const mentions = (name: string) => complaints.some((line) => mentionsName(line, name));
  const guilty = names.length === 1 ? names : names.filter(mentions);
  const said = stopped ?? ((complaints.length ? complaints : lines).join("\n").slice(0, 1500) || "no reason");
  return `${(guilty.length ? guilty : names).slice(0, 5).join(", ")}: ${said}`;
}

function mentionsName(line: string, name: string): boolean {
  const bare = name.replace(/\[.*$/, "").toLowerCase();
  const at = line.toLowerCase().indexOf(bare);
  const around = (index: number) => /[a-z0-9_-]/i.test(line[index] ?? " ");
  return at >= 0 && !around(at - 1) && !around(at + bare.length);
}
