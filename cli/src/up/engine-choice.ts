/**
 * What runs sessions on this machine: containers where a Docker engine can be had, else WebAssembly. An engine whose
 * sessions are still there is not changed for the other without being told to: they would be lost.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NoDockerEngine } from "@sandbar/agent-host/setup/docker-engine.ts";
import { boxesFolder } from "@sandbar/agent-host/src/box/box-folders.ts";
import { hasEnded, Journal, journalFile } from "@sandbar/agent-host/src/journal/journal.ts";
import { isWasmSandbox } from "@sandbar/agent-host/src/wasm/guest-process.ts";

export type HostEngine = "docker" | "wasm";

const NAMES: Record<string, HostEngine> = { container: "docker", docker: "docker", wasm: "wasm" };

/** What was asked for, by `--engine` or else SANDBAR_ENGINE; undefined when it is left to us. */
export function askedEngine(
  flag: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): HostEngine | undefined {
  const [given, from] = flag === undefined ? [env.SANDBAR_ENGINE, "SANDBAR_ENGINE"] : [flag, "--engine"];
  if (!given && flag === undefined) return undefined;
  if (!Object.hasOwn(NAMES, given!))
    throw new Error(`${from} is ${JSON.stringify(given)}; it can be container or wasm`);
  return NAMES[given!];
}

export interface Choice {
  readonly asked: HostEngine | undefined;
  /** Of this home, the engines whose sessions still run. */
  readonly inUse: ReadonlySet<HostEngine>;
  /** Throws NoDockerEngine when there are no containers to be had. */
  readonly ensureDocker: () => Promise<void>;
  readonly say: (line: string) => void;
}

export async function chooseEngine({ asked, inUse, ensureDocker, say }: Choice): Promise<HostEngine> {
  if (asked === "wasm") return "wasm";
  if (asked === undefined && inUse.has("wasm") && !inUse.has("docker")) {
    say(
      "sessions in WebAssembly are still here, so it stays; `npm run down` removes them, then Docker is tried",
    );
    return "wasm";
  }
  try {
    await ensureDocker();
    return "docker";
  } catch (error) {
    if (asked === "docker" || !(error instanceof NoDockerEngine)) throw error;
    if (inUse.has("docker"))
      throw new Error(
        `${error.message}\nThere are sessions in containers here, which only Docker can bring back. ` +
          "`npm start -- --engine wasm` gives them up and starts without Docker.",
      );
    say(`no containers here: ${error.message}`);
    say(
      "so sessions run Python in WebAssembly; bash, Node, R, processes, terminals, ports and volumes need containers",
    );
    return "wasm";
  }
}

/** By what the last daemon wrote down, of which `npm run down` removes the boxes. */
export function enginesInUse(home: string): Set<HostEngine> {
  if (!existsSync(journalFile(home))) return new Set();
  const journal = new Journal(home);
  try {
    const there = journal
      .sessions()
      .filter((row) => !hasEnded(row) && row.sandbox && existsSync(join(boxesFolder(home), row.box)));
    return new Set(there.map(({ sandbox }) => (isWasmSandbox(sandbox!) ? "wasm" : "docker")));
  } finally {
    journal.close();
  }
}
