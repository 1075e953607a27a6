/** Control plane and agent-host in one container, whose sessions are its siblings: docs/compose.md. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Sample } from "@sandbar/shared";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { docker, eventually } from "../fixtures/stack.ts";
import { Contained, WITH_COMPOSE } from "./contained.ts";

const product = new Contained();
const { client } = product;
beforeAll(() => product.up(), 1_200_000);
afterAll(() => product.close());

const files = (session: string, path: string) => `/v1/sessions/${session}/files?path=${path}`;

it("gives sessions what the engine can see: its volume, by the path that the engine has for it", async () => {
  const { id } = await client.create();
  expect(await client.run(id, "x = 20\nprint(x)")).toMatchObject({ status: "ok", stdout: "20\n" });
  expect((await client.run(id, "x * 2")).text).toBe("40");
  const bash = await client.run(id, "echo from bash > note.txt; pwd", { language: "bash" });
  expect(bash.stdout).toBe("/session\n");
  expect((await client.call<string>("GET", files(id, "note.txt"))).body).toBe("from bash\n");

  const { Mountpoint } = await docker.getVolume(product.volume).inspect();
  await eventually("the container has the session's name", 10_000, async () => {
    const { Mounts } = await docker.getContainer(`sandbar-${id}`).inspect();
    expect(Mounts.map(({ Source }) => Source)).not.toContain("");
    return Mounts.every(({ Source }) => Source.startsWith(`${Mountpoint}/`));
  });
  await client.stop(id);
});

it("stores artifacts, counts what sessions use, and ends code that does not", async () => {
  const { id } = await client.create();
  const made = await client.run(id, "open('/session/artifacts/a.txt', 'w').write('kept')");
  const [artifact] = made.artifacts;
  expect((await client.call<string>("GET", `/v1/artifacts/${artifact!.id}/content`)).body).toBe("kept");
  expect((await client.run(id, "while True: pass", { timeout_s: 1 })).status).toBe("timeout");
  const { data } = await client.ok<{ data: Sample[] }>("GET", `/v1/sessions/${id}/metrics`);
  expect(data.at(-1)!.memory_bytes).toBeGreaterThan(1_000_000);
  await client.stop(id);
});

it("keeps folders of BIND sessions, and volumes, in its own volume", async () => {
  const { id } = await client.create({ storage: "BIND", volumes: [{ name: "models", path: "/mnt/models" }] });
  await client.run(id, "open('/session/kept.txt', 'w').write('a'); open('/mnt/models/m', 'w').write('b')");
  await client.stop(id);
  expect(await product.read(`sessions/${id}/kept.txt`)).toBe("a");
  const next = await client.create({ volumes: [{ name: "models", path: "/srv" }] });
  expect((await client.run(next.id, "open('/srv/m').read()")).text).toBe("'b'");
  await client.stop(next.id);
});

it("has the door of network by name", async () => {
  const { id } = await client.create({ network: { allow: ["files.example.org"] } });
  const asked = await client.run(id, "import urllib.request as r; r.urlopen('http://denied.example.net')");
  expect(asked.error).toMatchObject({ name: "HTTPError", value: expect.stringContaining("403") });
  await client.stop(id);
});

if (WITH_COMPOSE)
  it("lets sessions have network and packages, with the machine's filter in force", async () => {
    const { id } = await client.create({ network: "egress", dependencies: { cowsay: "latest" } });
    expect((await client.run(id, "import cowsay; cowsay.__name__")).text).toBe("'cowsay'");
    const machine = createServer((socket) => socket.end()).listen(0, "0.0.0.0");
    onTestFinished(() => void machine.close());
    await once(machine, "listening");
    const reached = await client.run(id, reachGateway((machine.address() as AddressInfo).port));
    expect(reached.error?.name).toBe("ConnectionRefusedError");
    await client.stop(id);
  });
else
  it("refuses network where it has no program for the filter", async () => {
    const refused = await client.problem("POST", "/v1/sessions", { network: "egress" });
    expect(refused.body).toMatchObject({ code: "EGRESS_UNAVAILABLE" });
    expect(refused.body.detail).toContain("iptables is not installed");
  });

/** The machine itself, as a container sees it. */
const reachGateway = (port: number) => `
import socket
rows = [line.split() for line in open('/proc/net/route')][1:]
gateway = next(row[2] for row in rows if row[1] == '00000000')
socket.create_connection((socket.inet_ntoa(bytes.fromhex(gateway)[::-1]), ${port}), 5)
`;

it("finds its sessions again in a new container, with code that ran on meanwhile", async () => {
  const { id } = await client.create();
  await client.run(id, "before = 'still here'");
  const running = await client.start(id, "import time\ntime.sleep(3)\n'done'", { timeout_s: 600 });
  await eventually("it runs", 10_000, async () => {
    return (await client.execution(id, running.id)).status === "running";
  });
  await product.kill();
  await product.down();
  await product.up();
  expect(await client.finished(id, running.id)).toMatchObject({ status: "ok", text: "'done'" });
  expect((await client.run(id, "before")).text).toBe("'still here'");
}, 240_000);

it("leaves nothing after its clean-up", async () => {
  await product.down();
  expect((await product.sessions()).length).toBeGreaterThan(0);
  await product.clean();
  expect(await product.sessions()).toEqual([]);
  await product.removeState();
  const { Volumes } = await docker.listVolumes({ filters: { name: [product.volume] } });
  expect(Volumes).toEqual([]);
});
