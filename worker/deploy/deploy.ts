/**
 * `npm run deploy`: puts the control plane on Cloudflare. Creates the database and the bucket when they are missing, applies the
 * migrations, deploys, and makes the first admin key. `--dry-run` shows what would be deployed and needs no account.
 *
 * @module
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newId } from "@sandbar/shared";
import { buildWorker } from "../build.ts";
import { deploymentConfig, namesIn } from "./config.ts";
import { repo, WranglerError, wrangler } from "./wrangler.ts";

const generated = join(repo, ".wrangler/sandbar.toml");

async function deploy(): Promise<void> {
  const toml = await readFile(join(repo, "wrangler.toml"), "utf8");
  const { database, bucket } = namesIn(toml);
  say("Building the Worker");
  await buildWorker();
  if (process.argv.includes("--dry-run")) {
    await writeConfig(deploymentConfig(toml, "00000000-0000-0000-0000-00000000d7e5"));
    await wrangler(["deploy", "--dry-run", "--config", generated], { show: true });
    say(`Dry run: would use the D1 database ${database} and the R2 bucket ${bucket}, made when missing.`);
    return;
  }
  const id = await ensureDatabase(database);
  await ensureBucket(bucket);
  await writeConfig(deploymentConfig(toml, id));
  say("Applying migrations");
  await wrangler(["d1", "migrations", "apply", database, "--remote", "--config", generated], { show: true });
  say("Deploying");
  await wrangler(["deploy", "--config", generated], { show: true });
  const secret = await ensureAdminKey(database);
  if (secret) say(`The first admin key. It is shown only now, so keep it:\n\n  ${secret}\n`);
}

async function writeConfig(text: string): Promise<void> {
  await mkdir(dirname(generated), { recursive: true });
  await writeFile(generated, `# Made by worker/deploy/deploy.ts from wrangler.toml.\n${text}`);
}

async function ensureDatabase(name: string): Promise<string> {
  const find = async () => {
    const list: { name: string; uuid: string }[] = JSON.parse(await wrangler(["d1", "list", "--json"]));
    return list.find((database) => database.name === name)?.uuid;
  };
  const existing = await find();
  if (existing) return existing;
  say(`Creating the D1 database ${name}`);
  await wrangler(["d1", "create", name]);
  const created = await find();
  if (!created) throw new Error(`The D1 database ${name} was created and cannot be found.`);
  return created;
}

async function ensureBucket(name: string): Promise<void> {
  try {
    await wrangler(["r2", "bucket", "create", name]);
    say(`Created the R2 bucket ${name}`);
  } catch (error) {
    if (!(error instanceof WranglerError && /already (exists|own)/i.test(error.output))) throw error;
  }
}

/** The secret of a new key, or null when there is an admin key already. Only its digest leaves this machine. */
async function ensureAdminKey(database: string): Promise<string | null> {
  const execute = (sql: string) =>
    wrangler(["d1", "execute", database, "--remote", "--json", "--config", generated, "--command", sql]);
  const answer: { results: { n: number }[] }[] = JSON.parse(
    await execute(`SELECT count(*) AS n FROM api_keys WHERE scopes LIKE '%"admin"%'`),
  );
  if ((answer[0]?.results[0]?.n ?? 0) > 0) return null;
  const secret = `sbk_${randomBytes(32).toString("base64url")}`;
  const digest = createHash("sha256").update(secret).digest("hex");
  const now = new Date().toISOString();
  await execute(
    `INSERT INTO api_keys (id, digest, name, tenant, scopes, created_at)
     VALUES ('${newId("key")}', '${digest}', 'first admin key', 'default', '["admin"]', '${now}')`,
  );
  return secret;
}

const say = (line: string) => process.stderr.write(`${line}\n`);

try {
  await deploy();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
