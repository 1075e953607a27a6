import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listenablePort, portFromEnv } from "./port.ts";

async function takenPort() {
  const server = createServer();
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

test("a port is a number, 8787 unless another is named", () => {
  expect(portFromEnv({})).toBe(8787);
  expect(portFromEnv({ SANDBAR_PORT: "9000" })).toBe(9000);
  for (const SANDBAR_PORT of ["http", "-1", "65536", "80.5"])
    expect(() => portFromEnv({ SANDBAR_PORT })).toThrow("SANDBAR_PORT must be a port number");
});

test("a taken port is refused with what to change, any port is made one that stays", async () => {
  const { port } = await takenPort();
  await expect(listenablePort("127.0.0.1", port)).rejects.toThrow(`port ${port} is taken; set SANDBAR_PORT`);
  await expect(listenablePort("192.0.2.1", port)).rejects.toThrow("SANDBAR_HOST");
  expect(await listenablePort("127.0.0.1", 0)).toBeGreaterThan(0);
});

test("a port on its way to be free is waited for", async () => {
  const { server, port } = await takenPort();
  const waited = listenablePort("127.0.0.1", port, 10_000);
  server.close();
  expect(await waited).toBe(port);
});
