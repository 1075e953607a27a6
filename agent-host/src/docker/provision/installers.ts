/** @module How each language's packages are installed: arguments, never shell text. Decided here, without I/O. */
import { type Language, SandbarError } from "@sandbar/shared";

/** Where an installation finds what it needs, and where sessions find what it made. */
export const INSTALL = {
  work: "/install",
  cache: "/cache",
  scripts: "/opt/sandbar/installers",
} as const;

export interface Installer {
  readonly command: string[];
  /** The folder inside that becomes the result. */
  readonly target: string;
  /** Mounts in the session, given the folder on the host. */
  binds(lib: string): string[];
  readonly env: string[];
}

type Dependencies = Readonly<Record<string, string>>;

const LIB = `${INSTALL.work}/lib`;

const NAMES: Partial<Record<Language, RegExp>> = {
  python: /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._-]+\])?$/,
  // Anything with a slash but no scope would be a repository of somebody's.
  node: /^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/i,
  r: /^[A-Za-z][A-Za-z0-9.]*[A-Za-z0-9]$/,
};

export function installerFor(
  runtime: Language,
  dependencies: Dependencies,
  { rRepos }: { rRepos: readonly string[] },
): Installer {
  const name = NAMES[runtime];
  if (!name)
    throw new SandbarError(
      "DEPENDENCY_FAILED",
      `${Object.keys(dependencies)[0]}: ${runtime} has no packages; choose the runtime python, node or r`,
    );
  for (const dependency of Object.keys(dependencies))
    if (!name.test(dependency))
      throw new SandbarError("DEPENDENCY_FAILED", `${dependency}: not the name of a ${runtime} package`);
  switch (runtime) {
    case "node":
      return node(dependencies);
    case "r":
      return r(dependencies, rRepos);
    default:
      return python(dependencies);
  }
}

function python(dependencies: Dependencies): Installer {
  const wanted = Object.entries(dependencies).map(([name, version]) => name + pythonVersion(version));
  return {
    command: ["python3", `${INSTALL.scripts}/python.py`, LIB, `${INSTALL.cache}/pip`, ...wanted],
    target: LIB,
    binds: (lib) => [`${lib}:/opt/sandbar/deps:ro`],
    env: ["PYTHONPATH=/opt/sandbar/deps"],
  };
}

function pythonVersion(version: string): string {
  const text = version.trim();
  if (isLatest(text)) return "";
  return /^[<>=!~]/.test(text) ? text : `==${text}`;
}

function node(dependencies: Dependencies): Installer {
  const wanted = Object.entries(dependencies).map(([name, version]) =>
    isLatest(version.trim()) ? name : `${name}@${version.trim()}`,
  );
  const options = ["--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--no-update-notifier"];
  return {
    command: [
      ...["npm", "install", "--prefix", INSTALL.work, "--cache", `${INSTALL.cache}/npm`],
      ...[...options, "--", ...wanted],
    ],
    target: `${INSTALL.work}/node_modules`,
    // At the root every script finds it, whichever folder it is in; `import` knows no NODE_PATH.
    binds: (lib) => [`${lib}:/node_modules:ro`],
    env: ["NODE_PATH=/node_modules"],
  };
}

function r(dependencies: Dependencies, repos: readonly string[]): Installer {
  const pairs = Object.entries(dependencies).flatMap(([name, version]) => [
    name,
    isLatest(version.trim()) ? "-" : version.trim().replace(/^==?\s*/, ""),
  ]);
  return {
    command: ["Rscript", "--vanilla", `${INSTALL.scripts}/r.R`, LIB, repos.join(","), ...pairs],
    target: LIB,
    binds: (lib) => [`${lib}:/opt/sandbar/deps:ro`],
    // Before Debian's own site library, which R_LIBS_SITE would replace.
    env: ["R_LIBS=/opt/sandbar/deps"],
  };
}

function isLatest(version: string): boolean {
  return version === "" || version === "*" || version === "latest";
}

/** The dependency that the installer complains about, and its own words. */
export function explainFailure(dependencies: Dependencies, output: string, stopped: string | null): string {
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
