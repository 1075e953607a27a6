/** Builds what Miniflare and Cloudflare run: the assets of console and docs, and the Worker as one module. Skips what has not changed. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { cp, glob, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const repo = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const WEB = join(repo, "web");
/** Beside the sources, what decides how they are built. */
const LOCKED = ["pnpm-lock.yaml", "worker/build.ts"];

export interface Built {
  /** The Worker as one ES module. */
  readonly script: string;
  /** The agent's Worker, likewise. */
  readonly agent: string;
  readonly assets: string;
  readonly fresh: boolean;
}

export async function buildWorker({ outdir = join(repo, "worker/dist") } = {}): Promise<Built> {
  const built = {
    script: join(outdir, "bundle/index.js"),
    agent: join(outdir, "agent/index.js"),
    assets: join(outdir, "assets"),
  };
  const files = {
    worker: join(outdir, "stamp"),
    agent: join(outdir, "agent-stamp"),
    assets: join(outdir, "assets-stamp"),
  };
  const stamps = { worker: await workerDigest(), agent: await agentDigest(), assets: await assetsDigest() };
  const isFresh = async (part: keyof typeof files) =>
    (await readFile(files[part], "utf8").catch(() => "")) === stamps[part];
  const allFresh = async () =>
    (await isFresh("assets")) && (await isFresh("worker")) && (await isFresh("agent"));
  if (await allFresh()) return { ...built, fresh: false };
  await mkdir(outdir, { recursive: true });
  const unlock = await lock(join(outdir, "lock"));
  try {
    if (await allFresh()) return { ...built, fresh: false };
    // Another process may be loading the old one: each is replaced whole, not file by file.
    if (!(await isFresh("assets"))) {
      await rm(files.assets, { force: true });
      await replace(built.assets, collectAssets);
      await writeFile(files.assets, stamps.assets);
    }
    if (!(await isFresh("worker"))) {
      await rm(files.worker, { force: true });
      await replace(join(outdir, "bundle"), (next) => bundle(next, "wrangler.toml"));
      await writeFile(files.worker, stamps.worker);
    }
    if (!(await isFresh("agent"))) {
      await rm(files.agent, { force: true });
      // Most of it is packages, which are read by nobody and loaded by everybody.
      await replace(join(outdir, "agent"), (next) => bundle(next, "agent/wrangler.toml", "--minify"));
      await writeFile(files.agent, stamps.agent);
    }
  } finally {
    await unlock();
  }
  return { ...built, fresh: true };
}

async function replace(folder: string, make: (next: string) => Promise<void>): Promise<void> {
  const next = `${folder}.next`;
  await rm(next, { recursive: true, force: true });
  await make(next);
  await rm(folder, { recursive: true, force: true });
  await rename(next, folder);
}

const LOCK_STALE_MS = 300_000;

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

async function collectAssets(assets: string): Promise<void> {
  await mkdir(join(assets, "docs"), { recursive: true });
  const scalar = join(repo, "worker/node_modules/@scalar/api-reference/dist/browser/standalone.js");
  await cp(scalar, join(assets, "docs/scalar.js"));
  if (!existsSync(join(WEB, "package.json"))) return;
  await run(["--run", "build"], WEB, "The console could not be built.");
  await cp(join(WEB, "dist"), assets, { recursive: true });
}

/** wrangler's own bundler, so that both places run the same code. */
async function bundle(outdir: string, config: string, ...flags: string[]): Promise<void> {
  const wrangler = join(repo, "worker/node_modules/wrangler/bin/wrangler.js");
  const args = [
    wrangler,
    "deploy",
    "--dry-run",
    ...flags,
    "--outdir",
    outdir,
    "--config",
    join(repo, config),
  ];
  await run(args, repo, "The Worker could not be bundled.");
}

async function run(args: string[], cwd: string, failure: string): Promise<void> {
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1", NO_COLOR: "1" };
  try {
    await promisify(execFile)(process.execPath, args, { cwd, env, maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${failure}\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}

async function workerDigest(): Promise<string> {
  const files = ["wrangler.toml", ...LOCKED, ...(await sources("worker/src")), ...(await clientSources())];
  return digest(files);
}

async function agentDigest(): Promise<string> {
  const own = ["agent/wrangler.toml", ...LOCKED, ...(await sources("agent/src"))];
  return digest([...own, ...(await sources("worker/src")), ...(await clientSources())]);
}

async function assetsDigest(): Promise<string> {
  if (!existsSync(join(WEB, "package.json"))) return digest(LOCKED);
  const files = [...LOCKED, ...(await clientSources())];
  const made = (entry: string) => /(^|\/)(node_modules|dist)(\/|$)/.test(entry);
  for await (const file of glob("web/**/*", { cwd: repo, exclude: made }))
    if (!made(file) && statSync(join(repo, file)).isFile()) files.push(file);
  return digest(files);
}

const clientSources = async () => [...(await sources("shared/src")), ...(await sources("sdk/src"))];

async function sources(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob("**/*.ts", { cwd: join(repo, folder) }))
    if (!file.endsWith(".test.ts")) files.push(join(folder, file));
  return files;
}

async function digest(files: string[]): Promise<string> {
  const hash = createHash("sha256").update(process.version);
  for (const file of files.sort()) hash.update(`\0${file}\0`).update(await readFile(join(repo, file)));
  return hash.digest("hex");
}

if (import.meta.main) {
  const begun = Date.now();
  const { script, fresh } = await buildWorker();
  console.log(`${relative(repo, script)} ${fresh ? `built in ${Date.now() - begun} ms` : "is up to date"}`);
}
