import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { BlockList } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { mountsBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import type { Session } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { docker, REPO } from "../fixtures/stack.ts";
import { startStack, useStack } from "../fixtures/use-stack.ts";

const servers: Server[] = [];
afterAll(async () => {
  for (const server of servers) server.close();
  expect(rules()).not.toContain(stack.hostId.slice(-11));
  expect(await networks()).toEqual([]);
});
const { stack, client } = useStack();
let session: Session;
beforeAll(async () => {
  session = await client.create({ network: "egress", limits: { timeout_s: 120 } });
});

const rules = () => execFileSync("iptables", ["-S"], { encoding: "utf8" });
const networks = () => docker.listNetworks({ filters: { label: [`sandbar.network=${stack.hostId}`] } });

async function addresses() {
  const [network] = await networks();
  return (await docker.getNetwork(network!.Id).inspect()).IPAM!.Config![0]!;
}
const gatewayAddress = async () => (await addresses()).Gateway!;

async function serve(host: string): Promise<number> {
  const server = createServer((_, answer) => answer.end("reached"));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as { port: number }).port;
}

/** `reached` or why not, as the session sees it. */
async function connect(address: string, port: number): Promise<string> {
  const code = `
import socket
try:
    socket.create_connection((${JSON.stringify(address)}, ${port}), timeout=10).close()
    outcome = 'reached'
except OSError as error:
    outcome = type(error).__name__
outcome`;
  return (await client.run(session.id, code)).text!.replaceAll("'", "");
}

describe("an egress session", () => {
  it("installs a package from the index, by name, with the host's certificates", async () => {
    const code =
      "pip install --quiet --target /session/lib six && python3 -c 'import sys; sys.path.insert(0, \"/session/lib\"); import six; print(six.__version__)'";
    const installed = await client.run(session.id, code, { language: "bash", timeout_s: 100 });
    expect(installed.stderr).not.toMatch(/error/i);
    expect(installed.stdout).toMatch(/^\d+\.\d+/);
  }, 120_000);

  it("does not reach the host, on any of its addresses", async () => {
    const gateway = await gatewayAddress();
    const everywhere = await serve("0.0.0.0");
    const onBridge = await serve(gateway);
    const own = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => address);
    expect(own).toContain(gateway);
    for (const address of own) {
      expect(await connect(address, everywhere), address).not.toBe("reached");
    }
    expect(await connect(gateway, onBridge)).not.toBe("reached");
    expect(await connect(gateway, 22)).not.toBe("reached");
  });

  it("does not reach metadata services or private networks", async () => {
    expect(await connect("169.254.169.254", 80)).not.toBe("reached");
    expect(rules()).toMatch(/-d 169\.254\.0\.0\/16 -j REJECT/);
    // Docker takes the session's own network from the same ranges: there nobody answers, with nothing to refuse.
    const own = new BlockList();
    const [network, bits] = (await addresses()).Subnet!.split("/");
    own.addSubnet(network!, Number(bits));
    const others = ["10.1.2.3", "192.168.1.1", "172.31.0.1", "100.64.0.1", "169.254.169.254"];
    // Refused at once, by the filter and not by silence.
    for (const address of others.filter((address) => !own.check(address)))
      expect(await connect(address, 80), address).toBe("ConnectionRefusedError");
  });

  it("does not reach another egress session", async () => {
    const other = await client.create({ network: "egress" });
    const server = await client.run(
      other.id,
      "import subprocess, sys, socket; subprocess.Popen([sys.executable, '-m', 'http.server', '8000']); socket.gethostbyname(socket.gethostname())",
    );
    const address = server.text!.replaceAll("'", "");
    expect(address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(await connect(address, 8000)).not.toBe("reached");
    await client.stop(other.id);
  });

  it("keeps its filter when somebody flushed the rules and the daemon starts again", async () => {
    const port = await serve("0.0.0.0");
    const gateway = await gatewayAddress();
    execFileSync("iptables", ["-w", "5", "-D", "INPUT", ...jump("IN")]);
    execFileSync("iptables", ["-w", "5", "-D", "DOCKER-USER", ...jump("OUT")]);
    expect(await connect(gateway, port)).toBe("reached");
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
    expect(await connect(gateway, port)).not.toBe("reached");
    expect(await connect("169.254.169.254", 80)).toBe("ConnectionRefusedError");
  });
});

describe("network none", () => {
  it("has no interface but loopback", async () => {
    const closed = await client.create();
    const seen = await client.run(closed.id, "import os; sorted(os.listdir('/sys/class/net'))");
    expect(seen.text).toBe("['lo']");
    await client.stop(closed.id);
  });
});

function jump(direction: "IN" | "OUT"): string[] {
  const tail = stack.hostId.slice(-11);
  return ["-i", `sbr-${tail}`, "-j", `SANDBAR-${direction}-${tail}`];
}

describe("a drain", () => {
  it("takes the network, its rules and the mounts of volumes along", async () => {
    const user = await client.create({ network: "egress", volumes: [{ name: "kept", path: "/mnt/kept" }] });
    await client.run(user.id, "open('/mnt/kept/file', 'w').write('x')");
    await promisify(execFile)(process.execPath, [join(REPO, "agent-host/src/main.ts"), "drain"], {
      env: { ...process.env, SANDBAR_HOME: stack.home },
    });
    expect(await networks()).toEqual([]);
    expect(rules()).not.toContain(stack.hostId.slice(-11));
    expect(mountsBelow(stack.home)).toEqual([]);
    expect(existsSync(join(stack.home, "volumes/default/kept.ext4"))).toBe(true);
  });
});

describe("a host without a packet filter", () => {
  it("refuses egress, and with it dependencies, unless its operator says otherwise", async () => {
    const bare = await startStack({ agentEnv: { PATH: "/usr/bin" } });
    for (const spec of [{ network: "egress" }, { dependencies: { six: "" } }]) {
      const { body } = await bare.client.problem("POST", "/v1/sessions", spec);
      expect(body).toMatchObject({ status: 422, code: "EGRESS_UNAVAILABLE" });
      expect(body.detail).toContain("SANDBAR_EGRESS_UNFILTERED=1");
    }
    const open = await startStack({ agentEnv: { PATH: "/usr/bin", SANDBAR_EGRESS_UNFILTERED: "1" } });
    const session = await open.client.create({ network: "egress" });
    const seen = await open.client.run(session.id, "import os; sorted(os.listdir('/sys/class/net'))");
    expect(seen.text).toBe("['eth0', 'lo']");
    expect(open.stack.agentLog()).toContain("egress sessions are not filtered");
  }, 180_000);
});
