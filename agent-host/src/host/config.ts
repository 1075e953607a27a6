/** @module The operator's settings: environment variables, or a JSON file with the same names; the environment wins. */
import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Language } from "@sandbar/shared";
import { z } from "zod";
import { caBundleFile } from "../../setup/ca-bundle.ts";
import { networkEnv } from "./network-env.ts";

const IMAGES_DIR = fileURLToPath(new URL("../../../images", import.meta.url));
const HOST_MEMORY_MB = Math.floor(totalmem() / 1024 / 1024);

const megabytes = z.coerce.number().int().min(1);
const millis = z.coerce.number().int().min(1).max(3_600_000);
const folder = z.string().transform((value) => path.resolve(value));

export const SettingsSchema = z.object({
  SANDBAR_URL: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).optional(),
  SANDBAR_HOME: folder.default(path.resolve(".sandbar")),
  /** What runs sessions; unset: Docker where it answers, else WebAssembly. */
  SANDBAR_ENGINE: z.enum(["docker", "wasm"]).optional(),
  SANDBAR_MAX_SESSIONS: z.coerce.number().int().min(0).max(10_000).optional(),
  SANDBAR_DEFAULT_MEMORY_MB: megabytes.min(64).default(1024),
  SANDBAR_DEFAULT_CPUS: z.coerce.number().min(0.05).default(1),
  SANDBAR_DEFAULT_PIDS: z.coerce.number().int().min(16).default(256),
  SANDBAR_DEFAULT_TMPFS_MB: megabytes.default(256),
  SANDBAR_DEFAULT_TIMEOUT_S: z.coerce.number().min(0.1).default(30),
  SANDBAR_MAX_MEMORY_MB: megabytes.min(64).default(Math.max(1024, Math.floor(HOST_MEMORY_MB / 2))),
  SANDBAR_MAX_CPUS: z.coerce.number().min(0.05).default(availableParallelism()),
  SANDBAR_MAX_PIDS: z.coerce.number().int().min(16).default(4096),
  SANDBAR_MAX_TMPFS_MB: megabytes.default(Math.max(512, Math.floor(HOST_MEMORY_MB / 4))),
  SANDBAR_MAX_TIMEOUT_S: z.coerce
    .number()
    .min(0.1)
    .default(24 * 3600),
  /** The OCI runtime of sandboxes, by Docker's name for it. */
  SANDBAR_OCI_RUNTIME: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$/, "must be the name of a runtime of Docker")
    .optional(),
  /** Users of the machine that sandboxes are: each box another one; a single number for all. */
  SANDBAR_USERS: z
    .string()
    .regex(/^\d{1,10}(-\d{1,10})?$/, "must be like 1000000-1999999")
    .default("1000000-1999999"),
  /** What one process may have open. */
  SANDBAR_MAX_OPEN_FILES: z.coerce.number().int().min(256).max(1_048_576).default(16_384),
  /** Warm sessions kept ready for the Python image; 0 keeps none, of any kind. */
  SANDBAR_POOL_SIZE: z.coerce.number().int().min(0).max(1000).default(2),
  /** Sizes by runtime (`python=4,node=1`), instead of SANDBAR_POOL_SIZE. */
  SANDBAR_POOL: z
    .string()
    .regex(/^((python|node|r|bash)=\d{1,3})(,(python|node|r|bash)=\d{1,3})*$/, "must be like python=4,node=1")
    .optional(),
  /** How many warm sessions recent demand may add up to. */
  SANDBAR_POOL_MAX: z.coerce
    .number()
    .int()
    .min(0)
    .max(1000)
    .default(Math.min(8, Math.floor(HOST_MEMORY_MB / 1024))),
  /** After this time without a new session the pool shrinks to its configured size; after six times that it is emptied. */
  SANDBAR_POOL_IDLE_S: z.coerce.number().int().min(1).default(600),
  /** Whether sessions whose code uses numpy or pandas keep a process that has imported them, from which kernels are forked. */
  SANDBAR_KERNEL_PRELOAD: z.enum(["on", "off"]).default("on"),
  SANDBAR_IMAGE_PYTHON: z.string().min(1).default("sandbar/python:latest"),
  SANDBAR_IMAGE_NODE: z.string().min(1).default("sandbar/node:latest"),
  SANDBAR_IMAGE_R: z.string().min(1).default("sandbar/r:latest"),
  SANDBAR_IMAGE_BASH: z.string().min(1).default("sandbar/python:latest"),
  /** Comma-separated references; a trailing `*` stands for anything. */
  SANDBAR_ALLOWED_IMAGES: z.string().default("sandbar/*"),
  SANDBAR_CA_BUNDLE: folder.optional(),
  SANDBAR_IMAGES_DIR: folder.default(IMAGES_DIR),
  /** How long the pull of an image may take. */
  SANDBAR_PULL_TIMEOUT_MS: millis.default(300_000),
  /** How long the installation of a session's dependencies may take. */
  SANDBAR_INSTALL_TIMEOUT_MS: millis.default(300_000),
  /** What installed dependencies and downloads may take on disk; the least recently used go first. */
  SANDBAR_DEPS_CACHE_MB: megabytes.default(5120),
  /** Comma-separated CRAN-like repositories instead of R's own; `file:///…` names a mirror on this machine. */
  SANDBAR_R_REPOS: z.string().default(""),
  /** Where Pyodide's own distribution is, with its `pyodide-lock.json`: a URL or a folder. */
  SANDBAR_PYODIDE_INDEX: z.string().default(""),
  /** Comma-separated addresses or ranges (`10.1.2.0/24`) that egress sessions may reach although they are private. */
  SANDBAR_EGRESS_ALLOW: z
    .string()
    .regex(
      /^$|^\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?(,\s*\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?)*$/,
      "must be like 10.1.2.0/24,10.9.9.9",
    )
    .default(""),
  /** Comma-separated name servers (`10.0.0.53`, `[fd00::53]:5353`) for sessions with rules; default: this machine's resolver. */
  SANDBAR_EGRESS_DNS: z
    .string()
    .default("")
    .refine((text) => list(text).every(isNameServer), "must be like 10.0.0.53,[2001:db8::53]:5353"),
  /** 1 allows egress sessions where the packet filter cannot be installed: they can then reach this machine's own ports. */
  SANDBAR_EGRESS_UNFILTERED: z.enum(["0", "1", "false", "true"]).default("0"),
  /** The largest volume that can be asked for. */
  SANDBAR_MAX_VOLUME_MB: megabytes.default(10_240),
  /** Folders of this host, separated by colons, whose files and folders sessions may import. */
  SANDBAR_IMPORT_DIRS: z.string().default(""),
  SESSIONS_ROOT: folder.optional(),
  /** What a BIND session's folder may hold. */
  SANDBAR_BIND_MB: megabytes.default(10_240),
  /** How long a BIND session's folder outlives it; 0: until somebody removes it. */
  SANDBAR_BIND_TTL_S: z.coerce
    .number()
    .int()
    .min(0)
    .default(30 * 24 * 3600),
  /** With less disk than this left no session is made, and caches go; 0: never. */
  SANDBAR_MIN_FREE_DISK_MB: z.coerce.number().int().min(0).default(1024),
  DATASETS_HOST_RO: folder.optional(),
  /** Of datasets that sessions have staged, for the next session of the same tenant. */
  SANDBAR_DATASET_CACHE_MB: z.coerce.number().int().min(0).default(4096),
  SANDBAR_INTERRUPT_GRACE_MS: millis.default(2000),
  SANDBAR_KILL_GRACE_MS: millis.default(5000),
  SANDBAR_START_TIMEOUT_MS: millis.default(30_000),
  SANDBAR_CALL_TIMEOUT_MS: millis.default(10_000),
  /** How long a reachable control plane may fail to take artifacts before they are left for the next execution. */
  SANDBAR_INGEST_GIVE_UP_MS: millis.default(30_000),
  SANDBAR_ORPHAN_AGE_MS: millis.default(300_000),
  /** Where Prometheus finds this daemon's figures on the loopback; 0: nowhere. */
  SANDBAR_METRICS_PORT: z.coerce.number().int().min(0).max(65_535).default(0),
  /** Where spans go (OTLP over HTTP); without it there are none. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  SANDBAR_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
});

export const VARIABLES = Object.keys(SettingsSchema.shape) as (keyof z.infer<typeof SettingsSchema>)[];

export class ConfigError extends Error {}

export type Config = ReturnType<typeof readConfig>;

export function readConfig(env: NodeJS.ProcessEnv, file: string | undefined = env.SANDBAR_CONFIG) {
  const given: Record<string, unknown> = file ? readFile(file) : {};
  for (const name of VARIABLES) if (env[name]) given[name] = env[name];
  const parsed = SettingsSchema.safeParse(given);
  if (!parsed.success)
    throw new ConfigError(parsed.error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("\n"));
  const s = parsed.data;
  const defaults = {
    memory_mb: s.SANDBAR_DEFAULT_MEMORY_MB,
    cpus: s.SANDBAR_DEFAULT_CPUS,
    pids: s.SANDBAR_DEFAULT_PIDS,
    tmpfs_mb: s.SANDBAR_DEFAULT_TMPFS_MB,
    timeout_s: s.SANDBAR_DEFAULT_TIMEOUT_S,
  };
  const maxima = {
    memory_mb: s.SANDBAR_MAX_MEMORY_MB,
    cpus: s.SANDBAR_MAX_CPUS,
    pids: s.SANDBAR_MAX_PIDS,
    tmpfs_mb: s.SANDBAR_MAX_TMPFS_MB,
    timeout_s: s.SANDBAR_MAX_TIMEOUT_S,
  };
  for (const key of Object.keys(defaults) as (keyof typeof defaults)[]) {
    const name = key.toUpperCase();
    if (defaults[key] > maxima[key])
      throw new ConfigError(
        `SANDBAR_DEFAULT_${name}: ${defaults[key]} is above SANDBAR_MAX_${name} (${maxima[key]})`,
      );
  }
  if (s.SANDBAR_DEFAULT_TMPFS_MB > s.SANDBAR_DEFAULT_MEMORY_MB / 2)
    throw new ConfigError("SANDBAR_DEFAULT_TMPFS_MB: must be at most half of SANDBAR_DEFAULT_MEMORY_MB");
  return {
    url: s.SANDBAR_URL?.replace(/\/+$/, ""),
    home: s.SANDBAR_HOME,
    engine: s.SANDBAR_ENGINE,
    maxSessions:
      s.SANDBAR_MAX_SESSIONS ?? Math.max(1, Math.floor((HOST_MEMORY_MB * 0.8) / defaults.memory_mb)),
    memoryMb: HOST_MEMORY_MB,
    cpus: availableParallelism(),
    defaults,
    maxima,
    runtime: s.SANDBAR_OCI_RUNTIME,
    users: users(s.SANDBAR_USERS),
    openFiles: s.SANDBAR_MAX_OPEN_FILES,
    kernelPreload: s.SANDBAR_KERNEL_PRELOAD === "on",
    pool: {
      sizes: poolSizes(s.SANDBAR_POOL, s.SANDBAR_POOL_SIZE),
      max: s.SANDBAR_POOL_SIZE === 0 && !s.SANDBAR_POOL ? 0 : s.SANDBAR_POOL_MAX,
      idleMs: s.SANDBAR_POOL_IDLE_S * 1000,
    },
    images: {
      python: s.SANDBAR_IMAGE_PYTHON,
      node: s.SANDBAR_IMAGE_NODE,
      r: s.SANDBAR_IMAGE_R,
      bash: s.SANDBAR_IMAGE_BASH,
    },
    allowedImages: list(s.SANDBAR_ALLOWED_IMAGES),
    caBundle: caBundle(s.SANDBAR_CA_BUNDLE, env),
    networkEnv: networkEnv(env),
    pullTimeoutMs: s.SANDBAR_PULL_TIMEOUT_MS,
    installTimeoutMs: s.SANDBAR_INSTALL_TIMEOUT_MS,
    depsCacheBytes: s.SANDBAR_DEPS_CACHE_MB * 1024 * 1024,
    rRepos: list(s.SANDBAR_R_REPOS),
    pyodideIndex: s.SANDBAR_PYODIDE_INDEX,
    egress: {
      allow: list(s.SANDBAR_EGRESS_ALLOW),
      dns: list(s.SANDBAR_EGRESS_DNS),
      unfiltered: s.SANDBAR_EGRESS_UNFILTERED === "1" || s.SANDBAR_EGRESS_UNFILTERED === "true",
    },
    maxVolumeMb: s.SANDBAR_MAX_VOLUME_MB,
    imagesDir: s.SANDBAR_IMAGES_DIR,
    /** Where sandboxes find guest and kernels: with a daemon, a copy. */
    runtimeDir: s.SANDBAR_IMAGES_DIR,
    /** Not in a container of its own: what it mounts, the engine does not see there. */
    mountsAreSeen: true,
    sessionsRoot: s.SESSIONS_ROOT ?? path.join(s.SANDBAR_HOME, "sessions"),
    bindMb: s.SANDBAR_BIND_MB,
    bindTtlMs: s.SANDBAR_BIND_TTL_S * 1000,
    minFreeDiskMb: s.SANDBAR_MIN_FREE_DISK_MB,
    importDirs: s.SANDBAR_IMPORT_DIRS.split(":")
      .filter(Boolean)
      .map((dir) => path.resolve(dir)),
    datasetsRoot: s.DATASETS_HOST_RO,
    datasetCacheBytes: s.SANDBAR_DATASET_CACHE_MB * 1024 * 1024,
    interruptGraceMs: s.SANDBAR_INTERRUPT_GRACE_MS,
    killGraceMs: s.SANDBAR_KILL_GRACE_MS,
    startTimeoutMs: s.SANDBAR_START_TIMEOUT_MS,
    callTimeoutMs: s.SANDBAR_CALL_TIMEOUT_MS,
    ingestGiveUpMs: s.SANDBAR_INGEST_GIVE_UP_MS,
    orphanAgeMs: s.SANDBAR_ORPHAN_AGE_MS,
    metricsPort: s.SANDBAR_METRICS_PORT,
    traces: s.OTEL_EXPORTER_OTLP_ENDPOINT
      ? { endpoint: s.OTEL_EXPORTER_OTLP_ENDPOINT, headers: s.OTEL_EXPORTER_OTLP_HEADERS }
      : null,
    logLevel: s.SANDBAR_LOG_LEVEL,
  };
}

function poolSizes(given: string | undefined, usual: number): Partial<Record<Language, number>> {
  if (!given) return { python: usual };
  return Object.fromEntries(
    given.split(",").map((entry) => {
      const [runtime, size] = entry.split("=");
      return [runtime, Number(size)];
    }),
  );
}

function users(given: string): { first: number; last: number } {
  const [first, last = first] = given.split("-").map(Number) as [number, number?];
  // The last two have meanings of their own, and root is nobody's.
  if (first < 1 || last < first || last > 0xfffffffd)
    throw new ConfigError(`SANDBAR_USERS: ${given} is not a range of users`);
  return { first, last };
}

function caBundle(given: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  // Docker would make a folder of a file that is not there.
  if (given && !existsSync(given)) throw new ConfigError(`SANDBAR_CA_BUNDLE: ${given} does not exist`);
  return given ?? caBundleFile(env);
}

function isNameServer(text: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  return isIP(bracketed ?? plain ?? text) !== 0;
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}

function readFile(file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ConfigError(`${file}: ${(error as Error).message}`);
  }
  const parsed = z.record(z.string(), z.unknown()).safeParse(value);
  if (!parsed.success) throw new ConfigError(`${file}: must hold one JSON object`);
  const unknown = Object.keys(parsed.data).filter((key) => !(VARIABLES as string[]).includes(key));
  if (unknown.length) throw new ConfigError(`${file}: unknown setting ${unknown.join(", ")}`);
  return { ...parsed.data };
}
