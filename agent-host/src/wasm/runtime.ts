/** @module What sessions in WebAssembly are made of: Deno, Pyodide, the programs of guest and kernel, and a memory snapshot. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Kernels } from "../../wasm/guest/kernels.ts";
import type { GuestStart } from "../../wasm/guest/start.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { plainProgram } from "./plain-program.ts";

const PROGRAMS = fileURLToPath(new URL("../../wasm", import.meta.url));
const GUEST = "wasm/guest/main.ts";
const SNAPSHOT_MS = 120_000;
const SNAPSHOT_MEMORY_MB = 1024;

export interface WasmRuntime {
  readonly deno: string;
  readonly pyodide: string;
  readonly lockInfo: unknown;
  /** Deno's own cache, filled when the snapshot is made. */
  readonly denoDir: string;
  /** `<agent-host>/wasm`. */
  readonly programs: string;
  readonly package: string;
  /** The guest's program: there once it has been made. */
  readonly guest: string;
  readonly snapshot: string;
  /** Changes with each of these. */
  readonly digest: string;
}

/** Throws with a reason when this machine cannot run it. */
export async function findRuntime(config: Config): Promise<WasmRuntime> {
  const require = createRequire(import.meta.url);
  if (!existsSync(path.join(PROGRAMS, "kernel/main.ts")))
    throw new Error(
      "the installed package of agent-host runs containers only, and no Docker Engine answers; a clone of the repository has WebAssembly too",
    );
  const pyodide = await realpath(path.dirname(require.resolve("pyodide/package.json")));
  const deno = await denoBinary(require);
  const folder = path.join(config.imagesDir, "kernels/python/sandbar_kernel");
  const digest = await digestOf(
    [folder, ...["kernel", "guest"].map((part) => path.join(PROGRAMS, part))],
    [deno, pyodide],
  );
  const home = path.join(config.home, "wasm");
  const lockInfo = JSON.parse(readFileSync(path.join(pyodide, "pyodide-lock.json"), "utf8")).info;
  return {
    ...{ deno, pyodide, lockInfo, package: folder, programs: PROGRAMS, digest },
    denoDir: path.join(home, "deno"),
    guest: path.join(home, digest),
    snapshot: path.join(home, `${digest}.snapshot`),
  };
}

/** The package's own script would only copy it. */
async function denoBinary(require: NodeJS.Require): Promise<string> {
  const libc = process.platform === "linux" ? "-glibc" : "";
  const name = `@deno/${process.platform}-${process.arch}${libc}`;
  const own = createRequire(require.resolve("deno/package.json"));
  return realpath(path.join(path.dirname(own.resolve(`${name}/package.json`)), "deno"));
}

async function digestOf(folders: readonly string[], paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(paths.join("\0"));
  for (const folder of folders)
    for (const name of (await readdir(folder)).sort())
      if (/\.(py|ts)$/.test(name)) hash.update(name).update(await readFile(path.join(folder, name)));
  return hash.digest("hex").slice(0, 16);
}

/** Where Deno would keep what programs give to web storage, asking for no permission: one place for all sessions. */
async function closeSharedStores(denoDir: string): Promise<void> {
  const folder = path.join(denoDir, "location_data");
  await rm(folder, { recursive: true, force: true });
  await writeFile(folder, "");
}

/** Everything that is made once for each version of its parts. */
export async function prepareRuntime(runtime: WasmRuntime, log: Log): Promise<void> {
  await makeSnapshot(runtime, log);
  await plainProgram(path.dirname(runtime.programs), GUEST, runtime.guest);
}

export const guestProgram = ({ guest }: WasmRuntime) => path.join(guest, GUEST.replace(/\.ts$/, ".js"));

/** Makes the memory of a Python that has the kernel loaded, once: from it a kernel starts in a tenth of the time. */
async function makeSnapshot(runtime: WasmRuntime, log: Log): Promise<void> {
  const home = path.dirname(runtime.snapshot);
  await mkdir(runtime.denoDir, { recursive: true, mode: 0o755 });
  await chmod(home, 0o755);
  await closeSharedStores(runtime.denoDir);
  if (existsSync(runtime.snapshot)) return;
  const began = performance.now();
  const start: GuestStart = {
    ...{ socket: "", kernels: home, mounts: [], storageMb: null, cgroup: null, egress: null, awayMs: 0 },
    ...{ deno: runtime.deno, denoDir: runtime.denoDir, pyodide: runtime.pyodide, lockInfo: runtime.lockInfo },
    ...{ program: path.join(runtime.programs, "kernel"), package: runtime.package, snapshot: null },
    pooled: false,
    memoryMb: SNAPSHOT_MEMORY_MB,
  };
  const kernels = new Kernels(start);
  await kernels.listen();
  try {
    const memory = await new Promise<Uint8Array>((resolve, reject) => {
      let said = "";
      const kernel = kernels.spawn({}, null, {
        onMessage() {},
        onOutput: (_stream, data) => resolve(data),
        onRaw: (_stream, data) => {
          said += data;
        },
        onExit: () => reject(new Error(`Python in WebAssembly did not start: ${said.slice(-1000)}`)),
      });
      setTimeout(() => reject(new Error("Python in WebAssembly did not start in time")), SNAPSHOT_MS).unref();
      void kernel;
    });
    await writeFile(`${runtime.snapshot}.part`, memory, { mode: 0o644 });
    await rename(`${runtime.snapshot}.part`, runtime.snapshot);
  } finally {
    for (const kernel of kernels.alive) kernel.kill();
    kernels.close();
  }
  const ms = Math.round(performance.now() - began);
  log.info(
    { ms, bytes: (await stat(runtime.snapshot)).size },
    "made the snapshot that WebAssembly sessions start from",
  );
}
