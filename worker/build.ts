/** Builds what Miniflare and Cloudflare run: the page's assets, and the Worker as one module. Skips what has not changed. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, glob, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const repo = resolve(dirname(fileURLToPath(import.meta.url)), "..");

export interface Built {
  /** The Worker as one ES module. */
  readonly script: string;
  readonly assets: string;
  readonly fresh: boolean;
}

export async function buildWorker({ outdir = join(repo, "worker/dist") } = {}): Promise<Built> {
  const built = { script: join(outdir, "bundle/index.js"), assets: join(outdir, "assets") };
  const stampFile = join(outdir, "stamp");
  const stamp = await sourcesDigest();
  const isFresh = async () => (await readFile(stampFile, "utf8").catch(() => "")) === stamp;
  if (await isFresh()) return { ...built, fresh: false };
  await mkdir(outdir, { recursive: true });
  const unlock = await lock(join(outdir, "lock"));
  try {
    if (await isFresh()) return { ...built, fresh: false };
    await rm(stampFile, { force: true });
    await copyAssets(built.assets);
    // Another process may be loading the old bundle: replace it whole, not file by file.
    const next = join(outdir, "bundle.next");
    await bundle(next);
    await rm(join(outdir, "bundle"), { recursive: true, force: true });
    await rename(next, join(outdir, "bundle"));
    await writeFile(stampFile, stamp);
  } finally {
    await unlock();
  }
  return { ...built, fresh: true };
}

const LOCK_STALE_MS = 120_000;

async function lock(path: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await mkdir(path);
      return () => rm(path, { recursive: true, force: true });
    } catch {
      const age =
        Date.now() -
        (await stat(path).then(
          ({ mtimeMs }) => mtimeMs,
          () => Date.now(),
        ));
      if (age > LOCK_STALE_MS) await rm(path, { recursive: true, force: true });
      await sleep(100);
    }
  }
}

async function copyAssets(assets: string): Promise<void> {
  await rm(assets, { recursive: true, force: true });
  await mkdir(join(assets, "docs"), { recursive: true });
  const scalar = join(repo, "worker/node_modules/@scalar/api-reference/dist/browser/standalone.js");
  await cp(scalar, join(assets, "docs/scalar.js"));
}

/** wrangler's own bundler, so that both places run the same code. */
async function bundle(outdir: string): Promise<void> {
  await rm(outdir, { recursive: true, force: true });
  const wrangler = join(repo, "worker/node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "deploy", "--dry-run", "--outdir", outdir, "--config", join(repo, "wrangler.toml")];
  try {
    await promisify(execFile)(process.execPath, args, {
      cwd: repo,
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1", NO_COLOR: "1" },
    });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`The Worker could not be bundled.\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}

async function sourcesDigest(): Promise<string> {
  const hash = createHash("sha256").update(process.version);
  const files = ["wrangler.toml", "pnpm-lock.yaml", "worker/build.ts"];
  for (const folder of ["worker/src", "shared/src", "sdk/src"])
    for await (const file of glob("**/*.ts", { cwd: join(repo, folder) }))
      if (!file.endsWith(".test.ts")) files.push(join(folder, file));
  for (const file of files.sort()) hash.update(`\0${file}\0`).update(await readFile(join(repo, file)));
  return hash.digest("hex");
}

if (import.meta.main) {
  const begun = Date.now();
  const { script, fresh } = await buildWorker();
  console.log(`${relative(repo, script)} ${fresh ? `built in ${Date.now() - begun} ms` : "is up to date"}`);
}
