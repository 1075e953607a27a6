/**
 * Builds the package that is published: JavaScript with types, the shared schemas inside, no workspace dependencies.
 * `node src/publish/build.ts [folder]`, by default `sdk/dist`.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const SDK = resolve(import.meta.dirname, "../..");
const REPO = resolve(SDK, "..");
const out = resolve(process.argv[2] ?? join(SDK, "dist"));
const ENTRIES = ["index", "langchain/index", "deepagents/index", "node/index", "mcp/index", "mcp/stdio"];

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
compile();
for (const file of emitted()) linkShared(file);
copyFileSync(join(SDK, "README.md"), join(out, "README.md"));
copyFileSync(join(REPO, "LICENSE"), join(out, "LICENSE"));
writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);

function compile(): void {
  const config = join(SDK, "tsconfig.publish.json");
  const tsc = join(REPO, "node_modules/.bin/tsc");
  writeFileSync(
    config,
    JSON.stringify({
      extends: "../tsconfig.node.json",
      compilerOptions: {
        noEmit: false,
        declaration: true,
        rewriteRelativeImportExtensions: true,
        // Found through node_modules it would count as somebody else's and not be emitted.
        paths: { "@sandbar/shared": ["../shared/src/index.ts"] },
        rootDir: REPO,
        outDir: out,
      },
      include: [],
      files: ENTRIES.map((entry) => `src/${entry}.ts`),
    }),
  );
  try {
    execFileSync(tsc, ["-p", config], { stdio: "inherit" });
  } finally {
    rmSync(config);
  }
}

function emitted(): string[] {
  return readdirSync(out, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(js|d\.ts)$/.test(file))
    .map((file) => join(out, file));
}

/** The shared package is private: its schemas are part of this one. */
function linkShared(file: string): void {
  const target = relative(dirname(file), join(out, "shared/src/index.js"));
  const text = readFileSync(file, "utf8").replaceAll(/(["'])@sandbar\/shared\1/g, `"${target}"`);
  writeFileSync(file, text);
}

function manifest(): Record<string, unknown> {
  const own = JSON.parse(readFileSync(join(SDK, "package.json"), "utf8"));
  const published = (source: string) => source.replace("./src/", "./sdk/src/").replace(/\.ts$/, "");
  return {
    name: own.name,
    version: own.version,
    description: own.description,
    license: own.license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=22" },
    exports: Object.fromEntries(
      Object.entries(own.exports as Record<string, string>).map(([name, source]) => [
        name,
        { types: `${published(source)}.d.ts`, default: `${published(source)}.js` },
      ]),
    ),
    dependencies: Object.fromEntries(
      Object.entries(own.dependencies as Record<string, string>).filter(
        ([, version]) => !version.startsWith("workspace:"),
      ),
    ),
    peerDependencies: own.peerDependencies,
    peerDependenciesMeta: own.peerDependenciesMeta,
  };
}
