/** @module How each language's packages are installed: arguments, never shell text. Decided here, without I/O. */
import type { Language } from "@sandbar/shared";
import {
  type DependencyList,
  isLatest,
  pythonRequirements,
  requireNames,
} from "../../engine/dependency-list.ts";

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

const LIB = `${INSTALL.work}/lib`;

export function installerFor(
  runtime: Language,
  dependencies: DependencyList,
  { rRepos }: { rRepos: readonly string[] },
): Installer {
  requireNames(runtime, dependencies);
  switch (runtime) {
    case "node":
      return node(dependencies);
    case "r":
      return r(dependencies, rRepos);
    default:
      return python(dependencies);
  }
}

function python(dependencies: DependencyList): Installer {
  const wanted = pythonRequirements(dependencies);
  return {
    command: ["python3", `${INSTALL.scripts}/python.py`, LIB, `${INSTALL.cache}/pip`, ...wanted],
    target: LIB,
    binds: (lib) => [`${lib}:/opt/sandbar/deps:ro`],
    env: ["PYTHONPATH=/opt/sandbar/deps"],
  };
}

function node(dependencies: DependencyList): Installer {
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

function r(dependencies: DependencyList, repos: readonly string[]): Installer {
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
