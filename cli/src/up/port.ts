/** @module The port of the control plane: a number, and free. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export function portFromEnv(env: NodeJS.ProcessEnv = process.env): number {
  const text = env.SANDBAR_PORT || "8787";
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`SANDBAR_PORT must be a port number, not ${JSON.stringify(text)}`);
  return port;
}

/**
 * Says at once what the control plane would only say in its log. The answer is a number that holds for every restart of
 * the control plane, also when any port would do (0).
 */
export async function listenablePort(host: string, port: number, patienceMs = 0): Promise<number> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const server = createServer();
    try {
      server.listen(port, host);
      await once(server, "listening");
      const { port: listening } = server.address() as AddressInfo;
      server.close();
      await once(server, "close");
      return listening;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "EADDRINUSE")
        throw new Error(`cannot listen on ${host}:${port} (SANDBAR_HOST, SANDBAR_PORT): ${message}`);
      if (Date.now() > deadline) throw new Error(`port ${port} is taken; set SANDBAR_PORT to another one`);
    }
    await sleep(100);
  }
}
