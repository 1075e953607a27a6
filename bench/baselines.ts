/** @module What Sandbar is measured against: `docker exec` per call, and a local Jupyter kernel. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { docker } from "@sandbar/test/fixtures/stack.ts";

const HERE = import.meta.dirname;
const VENV = resolve(HERE, "../node_modules/.cache/bench-venv");

export interface Baseline {
  cells(n: number): Promise<number[]>;
  close(): Promise<void>;
}

/** A long-lived IPython kernel in a container, asked through `docker exec python3 client` each time. */
export async function dockerExecBaseline(): Promise<Baseline> {
  const container = await docker.createContainer({
    Image: "sandbar/python:latest",
    User: "65532:65532",
    Env: ["HOME=/tmp", "IPYTHONDIR=/tmp/ipython"],
    Cmd: ["python3", "/bench/exec_kernel.py", "serve"],
    HostConfig: {
      NetworkMode: "none",
      Binds: [`${join(HERE, "baselines")}:/bench:ro`],
      Tmpfs: { "/tmp": "" },
    },
    Labels: { "sandbar.bench": "docker-exec" },
  });
  await container.start();
  const ask = () => {
    const began = performance.now();
    const { status, stdout } = spawnSync(
      "docker",
      ["exec", "-i", container.id, "python3", "/bench/exec_kernel.py", "ask", "1+1"],
      {
        encoding: "utf8",
      },
    );
    return { ok: status === 0 && stdout.includes('"2"'), took: performance.now() - began };
  };
  for (let i = 0; i < 50 && !ask().ok; i++) await new Promise((done) => setTimeout(done, 200));
  return {
    async cells(n) {
      return Array.from({ length: n }, () => {
        const { ok, took } = ask();
        if (!ok) throw new Error("the docker exec baseline failed");
        return took;
      });
    },
    close: () => container.remove({ force: true }) as Promise<void>,
  };
}

export async function jupyterBaseline(say: (line: string) => void): Promise<Baseline> {
  if (!existsSync(join(VENV, "bin/jupyter-kernelspec"))) {
    say("installing jupyter_client and ipykernel (once)");
    mkdirSync(VENV, { recursive: true });
    execFileSync("python3", ["-m", "venv", VENV]);
    execFileSync(join(VENV, "bin/pip"), ["install", "--quiet", "jupyter_client", "ipykernel"], {
      stdio: "inherit",
    });
  }
  const child: ChildProcess = spawn(join(VENV, "bin/python"), [join(HERE, "baselines/jupyter.py")], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  await lines.next();
  return {
    async cells(n) {
      child.stdin!.write(`${n}\n`);
      const { value } = await lines.next();
      return JSON.parse(value as string) as number[];
    },
    async close() {
      const gone = new Promise((done) => child.once("exit", done));
      child.stdin!.end();
      await gone;
    },
  };
}

/** `docker run` of an IPython container until its first result. */
export function dockerRunToFirstResult(): number {
  const began = performance.now();
  const { status } = spawnSync(
    "docker",
    [
      "run",
      "--rm",
      "--network",
      "none",
      "--user",
      "65532:65532",
      "-e",
      "HOME=/tmp",
      "--tmpfs",
      "/tmp",
      "sandbar/python:latest",
      "ipython",
      "--no-banner",
      "-c",
      "print(1+1)",
    ],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error("docker run failed");
  return performance.now() - began;
}
