/**
 * `npm run pack`: writes installable packages of the client library, the command line, the host's daemon and the Python
 * client to `dist/`. `node cli/setup/pack.ts [folder]` writes them elsewhere.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { buildNpmPackage, type PackageSpec } from "./npm-package.ts";
import { buildWheel } from "./python-wheel.ts";

const REPO = resolve(import.meta.dirname, "../..");
const CACHE = join(REPO, "node_modules/.cache");

const PACKAGES: PackageSpec[] = [
  { folder: "sdk", node: ">=20" },
  { folder: "cli", node: ">=20", bin: { name: "sandbar", source: "./src/main.ts" } },
  {
    folder: "agent-host",
    // Its installer; the daemon has a Node of its own.
    node: ">=20",
    bin: { name: "agent-host", source: "./src/main.ts" },
    data: ["images"],
  },
];

const dist = resolve(process.env.INIT_CWD ?? ".", process.argv[2] ?? join(REPO, "dist"));
mkdirSync(dist, { recursive: true });
for (const name of packages()) rmSync(join(dist, name));
mkdirSync(CACHE, { recursive: true });
const work = mkdtempSync(join(CACHE, "pack-"));
try {
  for (const spec of PACKAGES) {
    const folder = join(work, spec.folder);
    mkdirSync(folder);
    buildNpmPackage(spec, folder);
    execFileSync("pnpm", ["pack", "--pack-destination", dist], { cwd: folder, stdio: "pipe" });
  }
  buildWheel(join(REPO, "sdk/python"), dist, work);
} finally {
  rmSync(work, { recursive: true });
}
for (const name of packages()) {
  const file = join(dist, name);
  console.log(`${relative(process.cwd(), file)}  ${Math.ceil(statSync(file).size / 1000)} kB`);
}

function packages(): string[] {
  return readdirSync(dist).filter((name) => /^sandbar[-_].*\.(tgz|whl)$/.test(name));
}
