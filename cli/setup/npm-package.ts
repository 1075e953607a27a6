/**
 * Builds a workspace package as npm installs it: JavaScript, the other workspace packages that it imports inside, and a
 * manifest with what the JavaScript really imports. Files keep their places in the repository, so that paths relative to
 * a source file (`../../../images`) hold in both.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { describeTypes } from "./described-types.ts";

const REPO = resolve(import.meta.dirname, "../..");

export interface PackageSpec {
  /** Its folder in the repository. */
  folder: string;
  /** The command that it brings, and its source file. */
  bin?: { name: string; source: string };
  /** The oldest Node that runs it. */
  node: string;
  /** Folders of the repository that it reads at run time. */
  data?: string[];
}

interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  keywords?: string[];
  exports?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, unknown>;
}

/** Fills `out`, which must be a folder inside of the repository: types are looked up from there. */
export function buildNpmPackage(spec: PackageSpec, out: string): void {
  const own = manifestOf(spec.folder);
  const entries = Object.values(own.exports ?? {});
  if (spec.bin) entries.push(spec.bin.source);
  compile(
    out,
    entries.map((entry) => join(REPO, spec.folder, entry)),
    own.exports !== undefined,
  );
  for (const file of emitted(out)) describeTypes(file);
  const imported = new Set(emitted(out).flatMap((file) => linkWorkspace(file, out)));
  if (spec.bin) chmodSync(join(out, spec.folder, compiled(spec.bin.source)), 0o755);
  for (const folder of spec.data ?? [])
    cpSync(join(REPO, folder), join(out, folder), {
      recursive: true,
      filter: (path) => basename(path) !== "__pycache__",
    });
  copyFileSync(join(REPO, spec.folder, "README.md"), join(out, "README.md"));
  copyFileSync(join(REPO, "LICENSE"), join(out, "LICENSE"));
  const manifest = {
    ...publishedManifest(spec, own, dependenciesOf(imported, own, out)),
    files: foldersIn(out),
  };
  writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

function foldersIn(out: string): string[] {
  return readdirSync(out, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(REPO, folder, "package.json"), "utf8"));
}

const compiled = (source: string) => source.replace(/\.ts$/, ".js");

/** The exports of the packages that others take in, as source files. */
const WORKSPACE = ["shared", "sdk"].flatMap((folder) => {
  const { name, exports = {} } = manifestOf(folder);
  return Object.entries(exports).map(([path, source]) => ({
    specifier: name + path.slice(1),
    source: join(folder, source),
  }));
});

function compile(out: string, files: string[], declaration: boolean): void {
  const config = `${out}.tsconfig.json`;
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(REPO, "tsconfig.base.json"),
      compilerOptions: {
        composite: false,
        tsBuildInfoFile: null,
        emitDeclarationOnly: false,
        declaration,
        rewriteRelativeImportExtensions: true,
        // Found through node_modules they would count as somebody else's and not be emitted.
        paths: Object.fromEntries(
          WORKSPACE.map(({ specifier, source }) => [specifier, [join(REPO, source)]]),
        ),
        rootDir: REPO,
        outDir: out,
      },
      files,
    }),
  );
  execFileSync(join(REPO, "node_modules/.bin/tsc"), ["-p", config], { stdio: "inherit" });
}

function emitted(out: string): string[] {
  return readdirSync(out, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(js|d\.ts)$/.test(file))
    .map((file) => join(out, file));
}

const IMPORT = /(\bfrom |^import |\bimport\()(["'])([^"'\n]+)\2/gm;

/**
 * Points imports of workspace packages at their files, and brings modules that need no compiler; answers with the packages
 * that the file imports from elsewhere.
 */
function linkWorkspace(file: string, out: string): string[] {
  const others: string[] = [];
  const text = readFileSync(file, "utf8").replaceAll(IMPORT, (whole, before, _, specifier: string) => {
    const source = WORKSPACE.find((entry) => entry.specifier === specifier)?.source;
    if (source) {
      const target = relative(dirname(file), join(out, compiled(source)));
      return `${before}"${target.startsWith(".") ? target : `./${target}`}"`;
    }
    // JavaScript already, with types of its own: the compiler leaves it where it is.
    if (/^\..*\.mjs$/.test(specifier))
      copyFileSync(join(REPO, relative(out, dirname(file)), specifier), join(dirname(file), specifier));
    else if (!/^(\.|node:)/.test(specifier)) others.push(packageName(specifier));
    return whole;
  });
  writeFileSync(file, text);
  return others;
}

const packageName = (specifier: string) =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

function dependenciesOf(imported: Set<string>, own: Manifest, out: string): Record<string, string> {
  const inside = readdirSync(out).filter((folder) => existsSync(join(REPO, folder, "package.json")));
  const known = Object.assign({}, ...inside.map((folder) => manifestOf(folder).dependencies));
  const needed = [...imported].filter((name) => !own.peerDependencies?.[name]).sort();
  return Object.fromEntries(
    needed.map((name) => {
      if (!known[name]) throw new Error(`${own.name} imports ${name}, which its package.json does not name`);
      return [name, known[name]];
    }),
  );
}

function publishedManifest(
  { folder, bin, node }: PackageSpec,
  {
    name,
    version,
    description,
    license,
    keywords,
    exports,
    peerDependencies,
    peerDependenciesMeta,
  }: Manifest,
  dependencies: Record<string, string>,
): Record<string, unknown> {
  const published = (source: string) => `./${join(folder, compiled(source))}`;
  return {
    name,
    version,
    description,
    license,
    keywords,
    type: "module",
    // Whoever publishes does so from a workflow that can prove where the files come from.
    publishConfig: { access: "public", provenance: true },
    engines: { node },
    ...(bin && { bin: { [bin.name]: published(bin.source) } }),
    ...(exports && {
      sideEffects: false,
      exports: Object.fromEntries(
        Object.entries(exports).map(([path, source]) => [
          path,
          { types: published(source).replace(/\.js$/, ".d.ts"), default: published(source) },
        ]),
      ),
    }),
    dependencies,
    peerDependencies,
    peerDependenciesMeta,
  };
}
