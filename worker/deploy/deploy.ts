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
import { deploymentConfig, namesIn, withoutServices } from "./config.ts";
import { repo, WranglerError, wrangler } from "./wrangler.ts";

const AGENT = "sandbar-agent";
const generated = join(repo, ".wrangler/sandbar.toml");
const generatedAgent = join(repo, `.wrangler/${AGENT}.toml`);

async function deploy(): Promise<void> {
  const toml = await readFile(join(repo, "wrangler.toml"), "utf8");
  const agentToml = await readFile(join(repo, "agent/wrangler.toml"), "utf8");
  const { database, bucket } = namesIn(toml);
  say("Building the Worker");
  await buildWorker();
  const dryRun = process.argv.includes("--dry-run");
  const id = dryRun ? "00000000-0000-0000-0000-00000000d7e5" : await ensureDatabase(database);
  const config = deploymentConfig(toml, id);
  await writeConfig(generated, config);
  await writeConfig(generatedAgent, deploymentConfig(agentToml, id, "agent/"));
  if (dryRun) {
    for (const file of [generated, generatedAgent])
      await wrangler(["deploy", "--dry-run", "--minify", "--config", file], { show: true });
    say(`Dry run: would use the D1 database ${database} and the R2 bucket ${bucket}, made when missing.`);
    return;
  }
  await ensureBucket(bucket);
  say("Applying migrations");
  await wrangler(["d1", "migrations", "apply", database, "--remote", "--config", generated], { show: true });
  say("Deploying");
  if (!(await exists(AGENT))) {
    // Each is bound to the other, so the first time one of them must do without.
    await writeConfig(generated, withoutServices(config));
    await wrangler(["deploy", "--config", generated]);
    await wrangler(["deploy", "--minify", "--config", generatedAgent]);
    await writeConfig(generated, config);
  }
  await wrangler(["deploy", "--config", generated], { show: true });
  await wrangler(["deploy", "--minify", "--config", generatedAgent], { show: true });
  await ensureSecretsKey();
  const secret = await ensureAdminKey(database);
  if (secret) say(`The first admin key. It is shown only now, so keep it:\n\n  ${secret}\n`);
}

async function writeConfig(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `# Made by worker/deploy/deploy.ts from wrangler.toml.\n${text}`);
}

async function exists(worker: string): Promise<boolean> {
  return wrangler(["deployments", "list", "--name", worker]).then(
    () => true,
    (error) => {
      if (error instanceof WranglerError) return false;
      throw error;
    },
  );
}

/** What seals secrets in D1. It is nowhere else, so what it has sealed is lost with the Worker. */
async function ensureSecretsKey(): Promise<void> {
  const listed = await wrangler(["secret", "list", "--format", "json", "--config", generated]);
  const secrets: { name: string }[] = JSON.parse(listed);
  if (secrets.some(({ name }) => name === "SECRETS_KEY")) return;
  say("Making the key of secrets");
  const input = randomBytes(32).toString("base64url");
  await wrangler(["secret", "put", "SECRETS_KEY", "--config", generated], { input });
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
