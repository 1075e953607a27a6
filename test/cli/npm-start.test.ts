/** `npm start` and `npm run down` as a user meets them: from npm itself, in a terminal's process group, with real kills. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mountsBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { Client } from "../fixtures/client.ts";
import { docker, eventually, freePort, REPO, removeHost } from "../fixtures/stack.ts";

const homes: string[] = [];
const terminals: Terminal[] = [];

/** One npm command in a process group of its own: Ctrl-C reaches all of the group, as in a terminal. */
class Terminal {
  output = "";
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor(args: string[], env: Record<string, string>) {
    // A test run that is killed leaves nothing serving.
    this.#child = spawn("setpriv", ["--pdeathsig", "TERM", "npm", ...args], {
      cwd: REPO,
      env: { ...process.env, SANDBAR_IMAGES: "python", SANDBAR_POOL_SIZE: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    this.ended = new Promise((resolve) => this.#child.once("close", resolve));
    terminals.push(this);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  ctrlC(): void {
    process.kill(-this.#child.pid!, "SIGINT");
  }

  /** The first match in what is printed from `from` on. */
  async says(what: RegExp, { from = 0, timeoutMs = 60_000 } = {}): Promise<RegExpExecArray> {
    let match: RegExpExecArray | null = null;
    await eventually(`${what} in ${this.output}`, timeoutMs, () => {
      match = what.exec(this.output.slice(from));
      if (!match && !this.running) throw new Error(`it ended: ${this.output}`);
      return match !== null;
    });
    return match!;
  }
}

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "sandbar-npm-start-"));
  homes.push(home);
  return home;
}

function hostIdOf(home: string): string {
  const file = join(home, "host/identity.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).host_id : "";
}

/** Everything that was started with this home, down to workerd. */
function processesOf(home: string): { pid: number; command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const environment = readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
        if (!environment.includes(`SANDBAR_HOME=${home}`)) return [];
        return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, "utf8") }];
      } catch {
        return [];
      }
    });
}

async function nothingRuns(home: string): Promise<void> {
  await eventually("no process of the home is left", 20_000, () => {
    const left = processesOf(home);
    if (left.length > 0) throw new Error(JSON.stringify(left));
    return true;
  });
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

function openFilesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(join(folder, fd))];
    } catch {
      return [];
    }
  });
}

describe("npm start", () => {
  const home = newHome();
  let port = 0;
  let product: Terminal | undefined;
  let client: Client;
  let session = "";
  let mark = "";

  const npm = (...args: string[]) => new Terminal(args, { SANDBAR_HOME: home, SANDBAR_PORT: String(port) });
  const pidIn = (file: string) => Number(readFileSync(join(home, file), "utf8"));
  const hostId = () => hostIdOf(home);
  const supervisor = () => pidIn("up.pid");
  const agentHost = (): number => JSON.parse(readFileSync(join(home, "host/daemon.json"), "utf8")).pid;
  const workerd = () => pidIn("workerd.pid");
  const parentOf = (pid: number) =>
    Number(/^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
  const controlPlane = () => parentOf(workerd());
  const labelled = (label: string, host = hostId()) => ({
    all: true,
    filters: { label: [`${label}=${host}`] },
  });
  const containers = () => docker.listContainers(labelled("sandbar.host"));
  const networks = () => docker.listNetworks(labelled("sandbar.network"));

  async function start(): Promise<void> {
    product = npm("start");
    await product.says(/Try it:\n\n.*\n\n.*npx sandbar .*\n/s);
    await client?.close();
    const key = readFileSync(join(home, "api-key"), "utf8").trim();
    client = new Client({ url: `http://127.0.0.1:${port}`, key });
  }

  async function markIsKept(): Promise<void> {
    await eventually("the variable is still there", 30_000, async () => {
      const { status, stdout } = await client.run(session, "print(mark)");
      expect([status, stdout]).toEqual(["ok", `${mark}\n`]);
      return true;
    });
    expect(await client.ok("GET", `/v1/hosts/${hostId()}`)).toMatchObject({ status: "online" });
  }

  /** Kills a part; answers with how long the supervisor then waits. */
  async function kill(pid: number, name: string): Promise<number> {
    const from = product!.output.length;
    process.kill(pid, "SIGKILL");
    const [, wait] = await product!.says(new RegExp(`${name} ended .*; starting it again in (\\d+) ms`), {
      from,
    });
    return Number(wait);
  }

  beforeEach(async () => {
    port ||= await freePort();
    if (!product?.running) await start();
    session = (await client.create({ key: "kept" })).id;
    mark = randomUUID();
    await client.run(session, `mark = ${JSON.stringify(mark)}`);
  });

  afterAll(async () => {
    await client?.close();
    for (const terminal of terminals) if (terminal.running) terminal.ctrlC();
    for (const home of homes) {
      // Whatever did not follow is killed, so that a failed run leaves nothing either.
      await nothingRuns(home).catch(() => {
        for (const { pid } of processesOf(home)) process.kill(pid, "SIGKILL");
      });
      await removeHost(hostIdOf(home), home);
    }
  });

  it("says where it serves, where the key is, and what to paste", async () => {
    // The toolchain that this test runs on is left as it is.
    expect(product!.output).not.toContain("Installing");
    const url = `http://127.0.0.1:${port}`;
    expect(product!.output).toContain(`Sandbar serves at ${url} `);
    expect(product!.output).toContain(`API key: ${join(home, "api-key")}\n`);
    const [, line] = /Try it:\n\n(.*)\n/.exec(product!.output)!;
    const answer = execFileSync("bash", ["-c", line!], { cwd: REPO, encoding: "utf8", timeout: 30_000 });
    expect(JSON.parse(answer)).toMatchObject({ status: "ok", stdout: "42\n" });
    const [, words] = /^ {2}(.*npx sandbar .*)$/m.exec(product!.output)!;
    const folder = { cwd: join(REPO, "sdk/src"), encoding: "utf8", timeout: 30_000 } as const;
    expect(execFileSync("bash", ["-c", words!], folder)).toBe("42\n");
  });

  it("starts a killed agent-host again, later each time, and sessions go on", async () => {
    const first = agentHost();
    const wait = await kill(first, "agent-host");
    await eventually("another agent-host has the home", 20_000, () => agentHost() !== first);
    expect(await kill(agentHost(), "agent-host")).toBe(2 * wait);
    await markIsKept();
    expect(openFilesOf(supervisor()).filter((file) => file.startsWith(join(home, "logs")))).toEqual([]);
  });

  it("starts a killed workerd or control plane again, on the same port, and sessions go on", async () => {
    for (const part of [workerd, controlPlane]) {
      const before = workerd();
      await kill(part(), "control plane");
      await markIsKept();
      expect(workerd()).not.toBe(before);
      expect(isAlive(before)).toBe(false);
    }
    // Temporary files of those that were killed are gone.
    expect(readdirSync(join(home, "tmp"))).toHaveLength(1);
  });

  it("refuses a second start, a taken port and settings that make no sense, and says what to change", async () => {
    const refused = async (env: Record<string, string>) => {
      const terminal = new Terminal(["start"], env);
      expect(await terminal.ended).toBe(1);
      return terminal.output;
    };
    const [twice, taken, images, badPort] = await Promise.all([
      refused({ SANDBAR_HOME: home, SANDBAR_PORT: String(await freePort()) }),
      refused({ SANDBAR_HOME: newHome(), SANDBAR_PORT: String(port) }),
      refused({ SANDBAR_HOME: newHome(), SANDBAR_IMAGES: "python,cobol" }),
      refused({ SANDBAR_HOME: newHome(), SANDBAR_PORT: "http" }),
    ]);
    expect(twice).toContain(`Sandbar already runs (pid ${supervisor()}) with ${home}.`);
    expect(taken).toContain(`port ${port} is taken; set SANDBAR_PORT to another one`);
    expect(images).toContain('SANDBAR_IMAGES has "cobol"; known are python, node, r');
    expect(badPort).toContain('SANDBAR_PORT must be a port number, not "http"');
    await markIsKept();
  });

  it("stops on Ctrl-C with sessions left running, which the next start adopts", async () => {
    product!.ctrlC();
    expect(await product!.ended).toBe(0);
    await nothingRuns(home);
    const [left] = await containers();
    expect(left).toMatchObject({ State: "running" });
    await start();
    await markIsKept();
    expect((await containers()).map(({ Id }) => Id)).toContain(left!.Id);
  });

  it("leaves no process when it is killed itself, and starts again at once", async () => {
    process.kill(supervisor(), "SIGKILL");
    await product!.ended;
    await start();
    expect(product!.output).toContain("the last start did not end cleanly");
    await markIsKept();
    process.kill(supervisor(), "SIGKILL");
    await product!.ended;
    await nothingRuns(home);
  });

  it("stops as on Ctrl-C when npm, or what npm runs, is killed", async () => {
    for (const killed of [() => product!.pid, () => parentOf(supervisor())]) {
      if (!product!.running) await start();
      process.kill(killed(), "SIGKILL");
      await product!.ended;
      await nothingRuns(home);
      expect((await containers()).map(({ State }) => State)).toContain("running");
      await start();
      expect(product!.output).not.toContain("did not end cleanly");
      await markIsKept();
    }
  }, 120_000);

  it("serves on without its host when that is removed, and joins as a new one at the next start, each time", async () => {
    const seen = new Set<string>();
    for (const and of ["is started again", "is taken down first", "has not heard of it"]) {
      const old = hostId();
      seen.add(old);
      expect(await containers()).not.toEqual([]);
      const daemon = agentHost();
      const deaf = and === "has not heard of it";
      if (deaf) process.kill(daemon, "SIGSTOP");
      await client.ok("DELETE", `/v1/hosts/${old}`);
      if (!deaf) await product!.says(/agent-host ended: this host was removed; .* the next start joins .*\n/);
      expect(await client.ok("GET", "/v1/hosts")).toMatchObject({ data: [] });
      expect(await client.ok("GET", `/v1/sessions/${session}`)).toMatchObject({ status: "lost" });
      product!.ctrlC();
      await product!.says(/stopping;/);
      if (deaf) process.kill(daemon, "SIGKILL");
      expect(await product!.ended).toBe(0);
      if (and === "is taken down first") expect(await npm("run", "down").ended).toBe(0);
      await start();
      expect(product!.output).toContain("this machine's host was removed; joining as a new one");
      expect(seen).not.toContain(hostId());
      expect(await docker.listContainers(labelled("sandbar.host", old))).toEqual([]);
      session = (await client.create({ key: "kept" })).id;
      await client.run(session, `mark = ${JSON.stringify(mark)}`);
      await markIsKept();
      expect(await containers()).toHaveLength(1);
    }
  }, 180_000);

  it("shows no enrollment token when it cannot join", async () => {
    const home = newHome();
    // A folder where the new identity should be written.
    mkdirSync(join(home, "host/identity.json.new"), { recursive: true });
    const terminal = new Terminal(["start"], { SANDBAR_HOME: home, SANDBAR_PORT: String(await freePort()) });
    expect(await terminal.ended).toBe(1);
    expect(terminal.output).toContain("this machine could not join");
    expect(terminal.output).not.toContain("sbe_");
  });

  it("is taken down whole by npm run down, whether it runs or not", async () => {
    for (const runs of [true, false]) {
      if (!product!.running) await start();
      await client.create({ key: "connected", network: "egress" });
      await client.create({ key: "bound", storage: "BIND" });
      expect(await containers()).not.toEqual([]);
      expect(await networks()).not.toEqual([]);
      expect(mountsBelow(home)).not.toEqual([]);
      const pid = supervisor();
      if (!runs) {
        product!.ctrlC();
        await product!.ended;
      }
      const down = npm("run", "down");
      expect(await down.ended, down.output).toBe(0);
      if (runs) {
        expect(down.output).toContain(`stopped Sandbar (pid ${pid})`);
        expect(await product!.ended).toBe(0);
      }
      await nothingRuns(home);
      expect(await containers()).toEqual([]);
      expect(await networks()).toEqual([]);
      expect(mountsBelow(home)).toEqual([]);
      expect(readdirSync(home)).not.toContain("boxes");
    }
  }, 120_000);
});
