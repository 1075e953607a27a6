/**
 * Scripts that change the packet filter of the engine's machine. A daemon in a container has a network of its own; a
 * container from its own image, in the machine's network, runs them for it.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type Docker from "dockerode";
import { TEMPORARY } from "./labels.ts";
import type { OwnContainer } from "./own-container.ts";
import { runOnce } from "./temporary-container.ts";

const TIMEOUT_MS = 30_000;

/** Answers with what the script has written; throws with the last that it complained about. */
export type RunScript = (script: string) => Promise<string>;

export function packetFilter(docker: Docker, hostId: string, own: OwnContainer | null): RunScript {
  return own ? (script) => runBeside(docker, hostId, own.image, script) : runHere;
}

async function runHere(script: string): Promise<string> {
  try {
    return (await promisify(execFile)("sh", ["-ec", script], { timeout: TIMEOUT_MS })).stdout;
  } catch (error) {
    const { code, stderr, message } = error as { code?: number; stderr?: string; message: string };
    throw failure(code, stderr || message);
  }
}

async function runBeside(docker: Docker, hostId: string, image: string, script: string): Promise<string> {
  const end = await runOnce(
    docker,
    {
      Image: image,
      Cmd: ["sh", "-ec", script],
      Entrypoint: [],
      User: "0:0",
      Labels: TEMPORARY(hostId),
      AttachStdout: true,
      AttachStderr: true,
      HostConfig: {
        NetworkMode: "host",
        CapDrop: ["ALL"],
        CapAdd: ["NET_ADMIN", "NET_RAW"],
        LogConfig: { Type: "none", Config: {} },
      },
    },
    { timeoutMs: TIMEOUT_MS },
  );
  if (end.exitCode !== 0 || end.stopped) throw failure(end.exitCode, end.stopped ?? end.output);
  return end.stdout;
}

function failure(code: number | undefined, said: string): Error {
  if (code === 127) return new Error("iptables is not installed");
  return new Error(said.trim().split("\n")[0]!.slice(0, 300));
}
