import { type Capacity, ENGINES, type Host, type Problem, type Session } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { Client } from "./client.ts";
import { FakeDaemon, onlyHost } from "./fake-daemon.ts";

const WASM: Capacity = {
  max_sessions: 10,
  memory_mb: 100_000,
  cpus: 2,
  runtimes: ["python"],
  engines: [{ engine: "wasm", runtimes: ["python"], capabilities: ["dependencies"] }],
};

let containers: FakeDaemon;
let client: Client;
beforeEach(async () => {
  containers = await onlyHost();
  client = await Client.of("acme");
});

async function wasmHost(): Promise<FakeDaemon> {
  const daemon = await FakeDaemon.join("laptop");
  daemon.capacity = WASM;
  daemon.ready = (session) =>
    daemon.report(session, { state: "ready", languages: ["python"], image: "pyodide" });
  return daemon.connect();
}

const create = (request: Record<string, unknown>) => client.call<Problem>("POST", "/v1/sessions", request);

describe("a session's engine", () => {
  it("is the container where nothing is said, also by the daemon", async () => {
    const session = await client.session();
    expect(session).toMatchObject({ engine: "container", languages: ["python", "bash"] });
    expect(session.capabilities).toEqual(ENGINES.container.capabilities);
    const listed = await client.call<{ data: Session[] }>("GET", "/v1/sessions");
    expect(listed.body.data.find(({ id }) => id === session.id)).toMatchObject({
      engine: "container",
      capabilities: session.capabilities,
    });
  });

  it("is chosen by name, told to the host, and part of what a key stands for", async () => {
    const wasm = await wasmHost();
    const session = await client.session({ key: "one", engine: "wasm" });
    expect(session).toMatchObject({
      engine: "wasm",
      host_id: wasm.host,
      languages: ["python"],
      capabilities: ["dependencies"],
    });
    expect(wasm.commands.find(({ session: of }) => of === session.id)?.command).toMatchObject({
      type: "session.create",
      spec: { engine: "wasm" },
    });
    expect((await client.session({ key: "one", engine: "any" })).id).toBe(session.id);
    const other = await create({ key: "one", engine: "container" });
    expect(other.body).toMatchObject({ status: 409, code: "SESSION_KEY_CONFLICT" });
    expect((await client.session({ engine: "container" })).host_id).toBe(containers.host);
  });

  it("is refused at once with what it can never have, though no host has it", async () => {
    for (const request of [
      { runtime: "r" },
      { runtime: "bash" },
      { volumes: [{ name: "notes", path: "/notes" }] },
      { image: "mine" },
      { network: { allow: ["files.example.org"] } },
    ]) {
      const { body } = await create({ engine: "wasm", ...request });
      expect(body).toMatchObject({ status: 422, code: "UNSUPPORTED_BY_ENGINE", retryable: false });
      expect(body.hint).toContain("container");
    }
    expect((await create({ engine: "tpu" })).body.code).toBe("VALIDATION_FAILED");
  });

  it("keeps what it cannot do from its host", async () => {
    const wasm = await wasmHost();
    const { id } = await client.session({ engine: "wasm" });
    const base = `/v1/sessions/${id}`;
    const asked: [string, string, unknown?][] = [
      ["POST", `${base}/processes`, { command: "ls" }],
      ["POST", `${base}/processes`, { command: "ls", pty: { cols: 80, rows: 24 } }],
      ["GET", `${base}/processes`],
      ["GET", `${base}/processes/prc_01k9aaaaaaaaaaaaaaaaaaaaaa/events`],
      ["GET", `${base}/ports/8000/`],
      ["POST", `${base}/ports/8000/preview`],
      ["POST", `${base}/contexts`, { name: "shell", language: "bash" }],
      ["POST", `${base}/executions`, { code: "ls", language: "bash" }],
    ];
    for (const [method, path, body] of asked) {
      const answer = await client.call<Problem>(method, path, body);
      expect([method, path, answer.body.code]).toEqual([method, path, "UNSUPPORTED_BY_ENGINE"]);
    }
    const terminal = await client.fetch(`${base}/terminal`, { headers: { Upgrade: "websocket" } });
    expect(await terminal.json()).toMatchObject({
      code: "UNSUPPORTED_BY_ENGINE",
      detail: "A session in WebAssembly cannot have terminals",
    });
    expect(wasm.frames.filter(({ t }) => t === "call")).toEqual([]);
  });
});

describe("a host", () => {
  it("says which engines it has and what they can do", async () => {
    const wasm = await wasmHost();
    const operator = await Client.of("acme", ["admin"]);
    const { body } = await operator.call<Host>("GET", `/v1/hosts/${wasm.host}`);
    expect(body.capacity?.engines).toEqual(WASM.engines);
  });
});
