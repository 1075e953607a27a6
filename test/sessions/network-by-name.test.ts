import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issue, makeAuthority } from "@sandbar/agent-host/src/egress/authority.ts";
import type { HostLoad, Session, SessionNetwork } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NameServer } from "../fixtures/name-server.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

/**
 * The operator of this test opens 127.0.0.1, where its own TLS server listens, and no other private address. Its
 * authority is in the operator's bundle.
 */
const folder = mkdtempSync(join(tmpdir(), "sandbar-network-"));
const names = new NameServer({
  "files.example.org": ["127.0.0.1"],
  "a.example.com": ["127.0.0.1"],
  "api.example.com": ["127.0.0.1"],
  "denied.example.net": ["127.0.0.1"],
  "inside.example.com": ["127.0.0.2"],
  "moves.example.com": ["127.0.0.1"],
});
let servers: Server;
let port = 0;
const agentEnv: Record<string, string> = { SANDBAR_EGRESS_ALLOW: "127.0.0.1", SANDBAR_POOL: "python=1" };

beforeAll(async () => {
  const authority = await makeAuthority("Test");
  writeFileSync(join(folder, "ca.pem"), authority.cert);
  const of = async (name: string) => issue(authority, name);
  const { createSecureContext } = await import("node:tls");
  servers = createServer(
    {
      ...(await of("files.example.org")),
      SNICallback: (name, done) => {
        of(name).then((certificate) => done(null, createSecureContext(certificate)), done);
      },
    },
    (request, response) => {
      // As git's simplest protocol has it.
      if (request.url?.includes("info/refs")) return response.end(`${"a".repeat(40)}\trefs/heads/main\n`);
      if (request.url?.startsWith("/simple/")) response.setHeader("content-type", "text/html");
      if (request.url === "/endless") {
        const more = () => {
          while (response.writable && response.write(Buffer.alloc(65_536)));
        };
        response.on("drain", more);
        return more();
      }
      if (request.url === "/headers") return response.end(JSON.stringify(request.headers));
      if (request.url === "/away")
        response.writeHead(302, { location: `https://denied.example.net:${port}/` });
      response.end(`served ${request.headers.host}${request.url}`);
    },
  );
  await new Promise<void>((resolve) => servers.listen(0, "127.0.0.1", resolve));
  port = (servers.address() as AddressInfo).port;
  agentEnv.SANDBAR_EGRESS_DNS = await names.listen();
  agentEnv.SANDBAR_CA_BUNDLE = join(folder, "ca.pem");
});
afterAll(() => {
  servers.close();
  servers.closeAllConnections();
  names.close();
  rmSync(folder, { recursive: true });
});

const { stack, client } = useStack(() => ({ agentEnv }));

const allowed = () => [`files.example.org:${port}`, `*.example.com:${port}`];
const url = (name: string, path = "/x") => `https://${name}:${port}${path}`;
let session: Session;

/** What Python's own library gets, or why not. */
async function fetched(target: string, id = session.id): Promise<string> {
  const code = `
import urllib.request
try:
    outcome = urllib.request.urlopen(${JSON.stringify(target)}, timeout=20).read().decode()
except OSError as error:
    outcome = str(error)
print(outcome)`;
  return (await client.run(id, code)).stdout;
}

async function shell(command: string, id = session.id): Promise<string> {
  const { stdout, stderr } = await client.run(id, command, { language: "bash", timeout_s: 60 });
  return stdout + stderr;
}

describe("a session with rules", () => {
  beforeAll(async () => {
    session = await client.create({ network: { allow: allowed() }, limits: { timeout_s: 60 } });
  });

  it("reaches what they name, with the programs of the image, and nothing else", async () => {
    expect(session.network).toEqual({ allow: allowed(), secrets: [] });
    expect(await fetched(url("files.example.org"))).toBe(`served files.example.org:${port}/x\n`);
    const code = `import requests; print(requests.get("${url("a.example.com")}", timeout=20).text)`;
    expect((await client.run(session.id, code)).stdout).toBe(`served a.example.com:${port}/x\n`);
    expect(await shell(`curl -sS ${url("a.example.com", "/curl")}`)).toContain("served a.example.com");
    expect(await fetched(url("denied.example.net"))).toContain("403");
    expect(await shell(`curl -sS ${url("files.example.org", "/away")} -L`)).toContain("403");
    expect(await shell(`git ls-remote ${url("files.example.org", "/r.git")} 2>&1`)).toContain(
      "refs/heads/main",
    );
    const index = url("a.example.com", "/simple");
    expect(await shell(`pip download --no-deps --retries 0 -i ${index} six 2>&1`)).toContain(
      "from versions: none",
    );
    const many = `
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(50) as pool:
    answers = list(pool.map(lambda n: requests.get(f"${url("a.example.com", "/{n}")}", timeout=30).text, range(100)))
print(all(answer.endswith(f"/{n}") for n, answer in enumerate(answers)))`;
    expect((await client.run(session.id, many)).stdout).toBe("True\n");
    // No way but this one.
    expect(
      await shell("ls /sys/class/net; curl -sS --noproxy '*' --max-time 5 https://files.example.org 2>&1"),
    ).toMatch(/^lo\n[\s\S]*Could not resolve/);
  });

  it("reaches it from Node, whose kernel starts with the variables", async () => {
    const node = await client.create({ runtime: "node", network: { allow: allowed() } });
    const code = `console.log(await (await fetch(${JSON.stringify(url("a.example.com"))})).text())`;
    expect(await client.run(node.id, code)).toMatchObject({ stdout: `served a.example.com:${port}/x\n` });
    const denied = await client.run(node.id, `await fetch(${JSON.stringify(url("denied.example.net"))})`);
    expect(denied.status).toBe("error");
    const npm = `npm view six --registry ${url("a.example.com", "/npm/")} 2>&1`;
    expect(await shell(npm, node.id)).toMatch(/not valid JSON|Unexpected token|is not in/);
    await client.stop(node.id);
  });

  it("reaches it from R, and in a box of the warm pool", async () => {
    const r = await client.create({ runtime: "r", network: { allow: allowed() } });
    const read = await client.run(r.id, `cat(readLines("${url("a.example.com", "/r")}", warn = FALSE))`);
    expect(read.stdout).toBe(`served a.example.com:${port}/r`);
    await client.stop(r.id);
    const ready = () => client.ok<HostLoad>("GET", `/v1/hosts/${stack.hostId}/load`);
    await eventually("a warm box", 30_000, async () => (await ready()).pool.some((shelf) => shelf.ready > 0));
    const warm = await client.create({ network: { allow: allowed() } });
    const fromPool = new RegExp(`${warm.id}[^\n]*ready, from the pool`);
    await eventually("it was a warm one", 10_000, () => fromPool.test(stack.agentLog()));
    expect(await fetched(url("files.example.org", "/warm"), warm.id)).toContain("/warm");
    expect(await fetched(url("denied.example.net"), warm.id)).toContain("403");
    const processes = `/v1/sessions/${warm.id}/processes`;
    const started = await client.ok<{ id: string }>("POST", processes, {
      command: `curl -sS ${url("a.example.com")} > got`,
    });
    await eventually(
      "the process ended",
      10_000,
      async () =>
        (await client.ok<{ status: string }>("GET", `${processes}/${started.id}`)).status === "exited",
    );
    expect(await shell("cat got", warm.id)).toContain("served a.example.com");
    await client.stop(warm.id);
  });

  it("does not reach private addresses, whatever name they have, and not one that a name moves to", async () => {
    expect(await fetched(url("inside.example.com"))).toContain("403");
    expect(await fetched(url("moves.example.com"))).toContain("served");
    names.table["moves.example.com"] = ["169.254.169.254"];
    expect(await fetched(url("moves.example.com"))).toContain("403");
    expect(await shell(`curl -sS --proxy-insecure https://127.0.0.2:${port}/ --noproxy '' 2>&1`)).toContain(
      "403",
    );
  });

  it("shows what it reached, in its events too", async () => {
    const { use } = await client.ok<SessionNetwork>("GET", `/v1/sessions/${session.id}/network`);
    expect(use.connections).toBeGreaterThan(5);
    expect(use.denied).toBeGreaterThan(2);
    expect(use.bytes_down).toBeGreaterThan(1000);
    expect(use.recent).toContainEqual(
      expect.objectContaining({ host: "inside.example.com", outcome: "denied" }),
    );
    for await (const { event, data } of client.events(`/v1/sessions/${session.id}/events`)) {
      if (event !== "network") continue;
      expect(data.connections[0]).toMatchObject({ host: "files.example.org", port, outcome: "ok" });
      break;
    }
  });

  it("obeys other rules at once: open connections end, and new ones need the new rules", async () => {
    const hold = `
import os, socket, time
proxy = socket.create_connection(("127.0.0.1", 61080))
proxy.sendall(b"CONNECT files.example.org:${port} HTTP/1.1\\r\\n\\r\\n")
assert b"200" in proxy.recv(1000)
open("/session/open", "w").close()
print(proxy.recv(1000))`;
    const held = client.run(session.id, hold);
    await eventually(
      "the connection is open",
      10_000,
      async () =>
        (await client.call("GET", `/v1/sessions/${session.id}/files?path=/session/open`)).status === 200,
    );
    const path = `/v1/sessions/${session.id}/network`;
    const changed = await client.ok<SessionNetwork>("PUT", path, { allow: [`Denied.example.net:${port}`] });
    expect(changed.allow).toEqual([`denied.example.net:${port}`]);
    expect((await held).stdout).toBe("b''\n");
    expect(await fetched(url("denied.example.net"))).toContain("served");
    expect(await fetched(url("files.example.org"))).toContain("403");
    expect((await client.ok<Session>("GET", `/v1/sessions/${session.id}`)).network).toEqual({
      allow: [`denied.example.net:${port}`],
      secrets: [],
    });
  });

  it("keeps its rules when the daemon was killed", async () => {
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
    expect(await fetched(url("denied.example.net"))).toContain("served");
    expect(await fetched(url("files.example.org"))).toContain("403");
    await client.stop(session.id);
  });
});

describe("a secret", () => {
  const value = "Bearer s3cr3t-of-the-operator";
  const seen = (id: string) => fetched(url("api.example.com", "/headers"), id);

  it("goes along to its host, and code finds it nowhere", async () => {
    await client.ok("PUT", "/v1/secrets/billing", {
      value: "from-the-store",
      hosts: [`api.example.com:${port}`],
    });
    const host = `api.example.com:${port}`;
    const stored = { host, header: "X-Billing", secret: "billing" };
    const allow = [`files.example.org:${port}`];
    const made = await client.create({
      network: { allow, secrets: [{ host, header: "Authorization", value }, stored] },
    });
    expect(made.network).toEqual({ allow, secrets: [{ host, header: "Authorization" }, stored] });
    // It was sent, and is in no file of this host and of the control plane. Later answers repeat it, which are kept.
    expect(await fetched(url("api.example.com"), made.id)).toContain("served");
    const { stdout } = spawnSync("grep", ["-rlE", "s3cr3t-of|from-the-store", stack.home], {
      encoding: "utf8",
    });
    expect(stdout).toBe("");
    // Through the sandbox's own authority, for every program that looks at the variables.
    for (const answer of [
      await seen(made.id),
      await shell(`curl -sS -H 'Authorization: mine' ${url("api.example.com", "/headers")}`, made.id),
    ]) {
      expect(JSON.parse(answer)).toMatchObject({ authorization: value, "x-billing": "from-the-store", host });
      expect(answer).not.toContain("mine");
    }
    expect(await fetched(url("files.example.org"), made.id)).toContain("served");
    expect(await shell(`curl -sS ${url("files.example.org", "/headers")}`, made.id)).not.toContain("s3cr3t");
    const search = "env; cat /proc/[0-9]*/environ /run/sandbar/* 2>/dev/null | tr '\\0' '\\n'";
    expect(await shell(search, made.id)).not.toMatch(/s3cr3t|from-the-store|PRIVATE KEY/);
    const shown = await client.call("GET", `/v1/sessions/${made.id}`);
    const state = await client.call("GET", `/v1/sessions/${made.id}/network`);
    expect(JSON.stringify([shown, state])).not.toMatch(/s3cr3t|from-the-store/);
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
    expect(JSON.parse(await seen(made.id))).toMatchObject({ authorization: value });
    await client.ok("DELETE", "/v1/secrets/billing");
    const path = `/v1/sessions/${made.id}/network`;
    await client.ok("PUT", path, { secrets: [{ host, header: "Authorization", value: "another" }] });
    expect(JSON.parse(await seen(made.id)).authorization).toBe("another");
    await client.ok("PUT", path, { allow: [host] });
    expect(JSON.parse(await seen(made.id)).authorization).toBeUndefined();
    await client.stop(made.id);
  });
});

describe("a tenant's share of egress", () => {
  it("ends what code carries, and names itself to code and to whoever wants another session", async () => {
    const spender = await stack.clientOf("spender");
    await client.ok("PUT", "/v1/policies/spender", { shares: { egress_mb_per_day: 4 } });
    const network = { allow: allowed() };
    const { id } = await spender.create({ network, limits: { timeout_s: 60 } });
    const endless = `curl -sS -o /dev/null ${url("a.example.com", "/endless")} 2>&1; echo ended; curl -sS ${url("a.example.com")} 2>&1`;
    const { stdout } = await spender.run(id, endless, { language: "bash", timeout_s: 60 });
    expect(stdout).toMatch(/ended[\s\S]*429/);
    const usage = await spender.ok<{ egress: { bytes_today: number } }>("GET", "/v1/usage");
    expect(usage.egress.bytes_today).toBeGreaterThanOrEqual(4 * 1024 * 1024);
    expect((await spender.problem("POST", "/v1/sessions", { network })).body).toMatchObject({
      code: "QUOTA_EXCEEDED",
      detail: expect.stringContaining("egress_mb_per_day"),
    });
    await spender.stop(id);
  });
});

describe("rules", () => {
  it("are refused where they cannot be, and where they cannot change", async () => {
    for (const network of [{ allow: ["http://a.b"] }, { allow: ["*"] }, { allow: "a.b" }, { deny: [] }])
      expect((await client.problem("POST", "/v1/sessions", { network })).body.code).toBe("VALIDATION_FAILED");
    const plain = await client.create();
    for (const [method, body] of [["GET"], ["PUT", { allow: [] }]] as const)
      expect((await client.problem(method, `/v1/sessions/${plain.id}/network`, body)).body).toMatchObject({
        status: 409,
        code: "NETWORK_FIXED",
      });
    await client.stop(plain.id);
    expect(readFileSync(join(folder, "ca.pem"), "utf8")).toContain("BEGIN");
  });
});
