/**
 * The product in a container beside its sessions. Usually Node's session image, which has nothing of ours, with this
 * checkout mounted: it is there already. With SANDBAR_TEST_COMPOSE=1 it is what users get, `docker compose up` with the
 * image that it builds, which takes minutes.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { removeContainersAndNetwork } from "@sandbar/agent-host/src/docker/host-traces.ts";
import { Client } from "../fixtures/client.ts";
import { docker, eventually, freePort, REPO } from "../fixtures/stack.ts";

const HOME = "/var/lib/sandbar";
const SOCKET = "/var/run/docker.sock";
const START_MS = 120_000;

export const WITH_COMPOSE = process.env.SANDBAR_TEST_COMPOSE === "1";

export class Contained {
  readonly name = `sandbar-test-${randomBytes(4).toString("hex")}`;
  readonly volume = WITH_COMPOSE ? `${this.name}_state` : `${this.name}-state`;
  port = 0;
  key = "";
  hostId = "";
  readonly client = new Client(this);

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A new container each time, as after a `down`. */
  async up(): Promise<void> {
    this.port ||= await freePort();
    if (WITH_COMPOSE) await this.#compose("up", "-d", "--build");
    else await this.#run(["node", "cli/src/up/up.ts"], "up");
    await eventually("its host is online", START_MS, async () => {
      this.key ||= (await this.read("api-key")).trim();
      const { data } = await this.client.ok<{ data: { id: string; status: string }[] }>("GET", "/v1/hosts");
      this.hostId = data[0]?.id ?? "";
      return data[0]?.status === "online";
    });
  }

  async kill(): Promise<void> {
    if (WITH_COMPOSE) return this.#compose("kill");
    await docker.getContainer(`${this.name}-up`).kill();
  }

  /** Sessions and state stay. */
  async down(): Promise<void> {
    if (WITH_COMPOSE) return this.#compose("down");
    await remove(`${this.name}-up`);
  }

  /** What the docs say before `down -v`. */
  async clean(): Promise<void> {
    if (WITH_COMPOSE) return this.#compose("run", "--rm", "sandbar", "sandbar", "down");
    await this.#run(["node", "cli/src/up/down.ts"], "clean");
    const { StatusCode } = await docker.getContainer(`${this.name}-clean`).wait();
    await remove(`${this.name}-clean`);
    if (StatusCode !== 0) throw new Error(`the clean-up ended with ${StatusCode}`);
  }

  async removeState(): Promise<void> {
    if (WITH_COMPOSE) return this.#compose("down", "-v");
    await docker.getVolume(this.volume).remove();
  }

  /** Whatever a failed test has left. */
  async close(): Promise<void> {
    await this.client.close();
    await this.down().catch(() => {});
    await remove(`${this.name}-clean`).catch(() => {});
    if (this.hostId) await removeContainersAndNetwork(docker, this.hostId);
    await this.removeState().catch(() => {});
  }

  /** A file of its home. */
  async read(file: string): Promise<string> {
    const [found] = await this.#containers();
    if (!found) throw new Error("it does not run");
    const exec = await docker
      .getContainer(found.Id)
      .exec({ Cmd: ["cat", join(HOME, file)], AttachStdout: true, AttachStderr: true });
    const stream = await exec.start({});
    const [out, err] = [new PassThrough(), new PassThrough()];
    docker.modem.demuxStream(stream, out, err);
    stream.once("end", () => [out, err].map((part) => part.end()));
    const [read, complaint] = await Promise.all([text(out), text(err)]);
    if ((await exec.inspect()).ExitCode !== 0) throw new Error(`${file}: ${complaint}`);
    return read;
  }

  sessions() {
    return docker.listContainers({ all: true, filters: { label: [`sandbar.host=${this.hostId}`] } });
  }

  #containers() {
    const filters: Record<string, string[]> = WITH_COMPOSE
      ? { label: [`com.docker.compose.project=${this.name}`] }
      : { name: [`^/${this.name}-up$`] };
    return docker.listContainers({ filters });
  }

  async #run(command: string[], name: string): Promise<void> {
    const socket = process.env.DOCKER_HOST?.replace(/^unix:\/\//, "") ?? SOCKET;
    const port = `${this.port}/tcp`;
    const container = await docker.createContainer({
      Image: "sandbar/node:latest",
      name: `${this.name}-${name}`,
      Cmd: command,
      User: "0:0",
      WorkingDir: REPO,
      Env: [
        ...[`SANDBAR_HOME=${HOME}`, "SANDBAR_HOST=0.0.0.0", `SANDBAR_PORT=${this.port}`],
        ...["SANDBAR_ENGINE=docker", "SANDBAR_IMAGES=python", "SANDBAR_POOL_SIZE=1"],
      ],
      ExposedPorts: { [port]: {} },
      HostConfig: {
        Init: true,
        Binds: [`${this.volume}:${HOME}`, `${REPO}:${REPO}:ro`, `${socket}:${SOCKET}`],
        PortBindings: { [port]: [{ HostIp: "127.0.0.1", HostPort: String(this.port) }] },
      },
    });
    await container.start();
  }

  async #compose(...words: string[]): Promise<void> {
    const COMPOSE_FILE = join(REPO, "images/all-in-one/compose.yaml");
    await promisify(execFile)("docker", ["compose", "-p", this.name, ...words], {
      // What the environment names besides is for a machine with mirrors of its own.
      env: { COMPOSE_FILE, ...process.env, SANDBAR_PORT: String(this.port) },
      maxBuffer: 64 * 1024 * 1024,
    });
  }
}

async function remove(name: string): Promise<void> {
  const container = docker.getContainer(name);
  await container.stop({ t: 20 }).catch(() => {});
  await container.remove({ force: true });
}
