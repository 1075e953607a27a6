import { spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Docker from "dockerode";
import { aptInstall, hasApt } from "./apt-install.ts";
import { engineRefusal } from "./engine-refusal.ts";
import { withFileLock } from "./file-lock.mjs";
import { asRoot, type Log, rootPrefix, runCommand } from "./run-command.ts";

const START_TIMEOUT_MS = 90_000;

/** There is no engine here, and none can be set up without asking. */
export class NoDockerEngine extends Error {}

/** Returns when a Docker Engine answers; installs and starts one where that can be done without asking. */
export async function ensureDockerEngine({ log }: { log: Log }): Promise<void> {
  const elsewhere = engineElsewhere();
  if (elsewhere) throw new NoDockerEngine(elsewhere);
  if (await answers()) {
    const refusal = await engineRefusal(new Docker());
    if (refusal) throw new NoDockerEngine(refusal);
    if (process.platform === "linux") return;
    throw new NoDockerEngine(
      "Docker's containers are in a virtual machine here, where they cannot reach this machine's sockets. " +
        "`docker compose -f images/all-in-one/compose.yaml up` runs all of Sandbar beside them (docs/compose.md).",
    );
  }
  if (process.env.DOCKER_HOST) {
    throw new NoDockerEngine(
      `No Docker Engine answers at DOCKER_HOST=${process.env.DOCKER_HOST}. Start that engine, or unset DOCKER_HOST ` +
        "to use one on this machine.",
    );
  }
  if (process.platform !== "linux") {
    throw new NoDockerEngine(
      "No Docker Engine answers. Start Docker Desktop or colima, then use docker compose (docs/compose.md).",
    );
  }
  const prefix = await rootPrefix();
  if (!prefix) {
    throw new NoDockerEngine(
      "No Docker Engine answers, and starting one needs root. Run `sudo systemctl start docker` (install it first " +
        "with `sudo apt-get install docker.io` if it is missing), or run this command as root.",
    );
  }
  await withFileLock(
    join(tmpdir(), `sandbar-docker-engine-${process.getuid?.()}.lock`),
    async () => {
      if (await answers()) return;
      try {
        if (!findDockerd()) await install(prefix, log);
        if (await answers()) return;
        await start(prefix, log);
      } catch (error) {
        if (error instanceof NoDockerEngine) throw error;
        throw new NoDockerEngine(`Docker Engine could not be set up here. ${(error as Error).message}`);
      }
    },
    () => log("Docker Engine: another start is setting it up, waiting"),
  );
}

/** Why the engine of `DOCKER_HOST` cannot be used, if so. */
export function engineElsewhere({ DOCKER_HOST }: NodeJS.ProcessEnv = process.env): string | null {
  if (!DOCKER_HOST || !isElsewhere(DOCKER_HOST)) return null;
  return (
    `DOCKER_HOST=${DOCKER_HOST} is an engine on another machine: containers there cannot reach the sockets and ` +
    "files of this one. Run agent-host on that machine, or unset DOCKER_HOST."
  );
}

/** What `DOCKER_HOST` names by an address of its own; a forwarded or local port shows itself when a box is made. */
export function isElsewhere(dockerHost: string): boolean {
  const [, scheme, host] = /^(\w+):\/\/(?:[^@/]*@)?(\[[^\]]*\]|[^:/]*)/.exec(dockerHost) ?? [];
  if (scheme === undefined || scheme === "unix" || scheme === "npipe") return false;
  if (scheme === "ssh") return true;
  return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|)$/.test(host!);
}

async function answers(): Promise<boolean> {
  try {
    await new Docker({ timeout: 5_000 }).ping();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") {
      const user = userName();
      const way = user
        ? `Run \`sudo usermod -aG docker ${user}\`, log out and in again, then repeat this command.`
        : "Run this command as a user of the group docker.";
      throw new NoDockerEngine(`Docker Engine runs, but ${user ?? "this user"} may not use it. ${way}`);
    }
    return false;
  }
}

/** A container may run as a number that has no name. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

function findDockerd(): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/usr/local/sbin", "/sbin"];
  return folders.map((folder) => join(folder, "dockerd")).find((file) => existsSync(file));
}

async function install(prefix: string[], log: Log): Promise<void> {
  if (!(await hasApt())) {
    throw new NoDockerEngine(
      "Docker Engine is not installed, and this is neither Debian nor Ubuntu. Install Docker Engine with this " +
        "system's package manager, start it, then run this command again.",
    );
  }
  await aptInstall(["docker.io", "iptables"], prefix, log);
}

async function start(prefix: string[], log: Log): Promise<void> {
  if (existsSync("/run/systemd/system")) {
    log("Docker Engine: systemctl start docker");
    await runCommand(asRoot(prefix, ["systemctl", "start", "docker"]));
    await waitUntilItAnswers(() => undefined, "see `journalctl -u docker`");
  } else {
    await startByHand(prefix, log);
  }
  log("Docker Engine: running");
}

async function startByHand(prefix: string[], log: Log): Promise<void> {
  const dockerd = findDockerd();
  if (!dockerd) throw new Error("docker.io is installed, but there is no dockerd. Reinstall docker.io.");
  await removeStalePidFile(prefix, "/var/run/docker.pid", "dockerd");
  await removeStalePidFile(prefix, "/var/run/docker/containerd/containerd.pid", "containerd");

  const logFolder = prefix.length === 0 ? "/var/log" : tmpdir();
  mkdirSync(logFolder, { recursive: true });
  const logFile = join(logFolder, "sandbar-dockerd.log");
  log(`Docker Engine: starting dockerd (log in ${logFile})`);
  const output = openSync(logFile, "a");
  // Detached: the engine, and with it running sessions, must outlive the command that started it.
  const child = spawn(prefix[0] ?? dockerd, prefix.length === 0 ? [] : [...prefix.slice(1), dockerd], {
    detached: true,
    stdio: ["ignore", output, output],
  });
  child.unref();
  let failure: string | undefined;
  child.once("error", (error) => {
    failure = error.message;
  });
  child.once("exit", (code, signal) => {
    failure = `dockerd ended with ${signal ?? code}:\n${complaints(readFileSync(logFile, "utf8"))}`;
  });
  await waitUntilItAnswers(() => failure, `see ${logFile}`);
}

function complaints(engineLog: string): string {
  const lines = engineLog.trimEnd().split("\n");
  return lines
    .filter((line) => !line.includes("level=info"))
    .slice(-6)
    .join("\n");
}

/** After a crash its number may belong to another process by now, and dockerd would refuse to start. */
async function removeStalePidFile(prefix: string[], file: string, program: string): Promise<void> {
  let pid: string;
  try {
    pid = readFileSync(file, "utf8").trim();
  } catch {
    return;
  }
  let running = "";
  try {
    running = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {}
  if (running !== program) await runCommand(asRoot(prefix, ["rm", "-f", file]));
}

async function waitUntilItAnswers(failure: () => string | undefined, where: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers())) {
    const reason =
      failure() ?? (Date.now() > deadline ? `no answer within ${START_TIMEOUT_MS / 1000} s` : undefined);
    if (reason) {
      throw new NoDockerEngine(
        `Docker Engine did not start (${where}): ${reason}\nIn a container, Docker Engine needs --privileged; ` +
          "or mount the socket of this machine's engine.",
      );
    }
    await sleep(150);
  }
}
