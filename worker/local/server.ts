/**
 * The control plane on one machine: the built Worker on Miniflare's API, everything persisted under SANDBAR_HOME.
 * Run as `node worker/local/server.ts`; prints one JSON line when it serves.
 *
 * @module
 */
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { buildWorker } from "../build.ts";
import { ensureAdminKey } from "./admin-key.ts";
import { agentWorker } from "./agent-worker.ts";
import { serveAsset } from "./assets.ts";
import { sweepBlobs } from "./blob-sweep.ts";
import { syncBlobs } from "./blob-sync.ts";
import { applyMigrations } from "./migrations.ts";
import { moduleFiles } from "./module-files.ts";
import { ensureSecretsKey } from "./secrets-key.ts";
import { killStaleWorkerd, leashWorkerd, rememberWorkerd } from "./workerd-leash.ts";
import { readWranglerConfig } from "./wrangler-config.ts";

const REPO = resolve(import.meta.dirname, "../..");
const CRON_INTERVAL_MS = Number(process.env.SANDBAR_CRON_MS ?? 5 * 60_000);
const SWEEP_INTERVAL_MS = 3600_000;
const BUCKET = "sandbar-blobs";
/** Miniflare's own port has its S3 endpoint, `/cdn-cgi/local/r2/s3`; any port unless presigned URLs must lead there. */
const ENTRY_PORT = Number(process.env.SANDBAR_ENTRY_PORT ?? 0);

export interface LocalServerOptions {
  home: string;
  host: string;
  port: number;
  /** Overrides of the `[vars]` in wrangler.toml. */
  vars: Record<string, string>;
  /** Opens workerd's inspector here, for profiles. */
  inspectorPort?: number;
}

export interface LocalServer {
  url: string;
  keyFile: string;
  workerdPid: number | null;
  miniflare: Miniflare;
  close(): Promise<void>;
}

export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  mkdirSync(options.home, { recursive: true, mode: 0o700 });
  const built = await buildWorker();
  const { script, assets } = built;
  const bundle = dirname(script);
  const vars = {
    // Models on this machine, such as Ollama's, may be called unless the operator says otherwise.
    SANDBAR_MODEL_PRIVATE_URLS: "loopback",
    ...options.vars,
    SECRETS_KEY: ensureSecretsKey(options.home, options.vars.SECRETS_KEY),
  };
  const agent = agentWorker(built.agent, vars.SANDBAR_MODEL_PRIVATE_URLS);
  const config = readWranglerConfig(join(REPO, "wrangler.toml"));
  killStaleWorkerd(options.home);
  leashWorkerd(options.home);
  // Miniflare's own: one that was killed leaves them, for the next start to clear.
  const temporary = join(options.home, "tmp");
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary);
  process.env.TMPDIR = temporary;

  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: ENTRY_PORT,
      inspectorPort: options.inspectorPort,
      // The entry's own socket is for Miniflare's proxy; clients use the direct socket, which skips it.
      log: new Log(LogLevel.WARN),
      logRequests: false,
      resourcePersistencePath: join(options.home, "state"),
      workers: [
        {
          name: "sandbar",
          unsafeInspectorProxy: options.inspectorPort !== undefined,
          modulesRoot: bundle,
          modules: moduleFiles(bundle),
          compatibilityDate: config.compatibilityDate,
          compatibilityFlags: config.compatibilityFlags,
          // Cloudflare's limit of a request's body does not hold here.
          bindings: { ...config.vars, MAX_BODY_BYTES: "5000000000", ...vars },
          d1Databases: { DB: "sandbar" },
          r2Buckets: { BLOBS: { id: BUCKET, ...s3Credentials(options.vars) } },
          durableObjects: Object.fromEntries(
            config.objects.map(({ name, className }) => [name, { className, useSQLite: true }]),
          ),
          // Miniflare's own assets Worker would stand before ours and double the cost of every request.
          serviceBindings: {
            ASSETS: (request) => serveAsset(assets, request),
            AGENT: agent.binding,
          },
          unsafeDirectSockets: [{ host: options.host, port: options.port }],
        },
        ...agent.workers,
      ],
    }),
  );
  await miniflare.ready;
  const workerdPid = rememberWorkerd(options.home);
  const db = (await miniflare.getD1Database("DB")) as unknown as Parameters<typeof ensureAdminKey>[0] &
    Parameters<typeof applyMigrations>[0];
  await applyMigrations(db, join(REPO, "migrations"));
  const keyFile = await ensureAdminKey(db, options.home);
  const direct = await miniflare.unsafeGetDirectURL("sandbar");

  const r2 = join(options.home, "state/r2");
  const endSync = syncBlobs(join(r2, BUCKET, "blobs"));
  const sweep = () => sweepBlobs(r2, BUCKET).catch((error) => console.error("could not sweep blobs", error));
  void sweep();
  const sweeping = setInterval(sweep, SWEEP_INTERVAL_MS);
  const cron = setInterval(async () => {
    const worker = (await miniflare.getWorker("sandbar")) as unknown as {
      scheduled(event: { cron: string; scheduledTime: Date }): Promise<unknown>;
    };
    await worker
      .scheduled({ cron: "*/5 * * * *", scheduledTime: new Date() })
      .catch((error) => console.error(error));
  }, CRON_INTERVAL_MS);

  return {
    url: direct.origin,
    keyFile,
    workerdPid,
    miniflare,
    async close() {
      clearInterval(cron);
      clearInterval(sweeping);
      await miniflare.dispose();
      await endSync();
    },
  };
}

/** Of the vars that let the Worker presign, when they are meant for this very server. */
function s3Credentials({ R2_ACCESS_KEY_ID, R2_SECRET_ACCESS_KEY, R2_ENDPOINT }: Record<string, string>) {
  if (!R2_ACCESS_KEY_ID || !R2_SECRET_ACCESS_KEY || !R2_ENDPOINT?.includes("/cdn-cgi/local/")) return {};
  return { s3Credentials: { accessKeyId: R2_ACCESS_KEY_ID, secretAccessKey: R2_SECRET_ACCESS_KEY } };
}
