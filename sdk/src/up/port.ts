/** @module The port of the control plane: a number, and free. */
import { createServer } from "node:net";

export function portFromEnv(env: NodeJS.ProcessEnv = process.env): number {
  const text = env.SANDBAR_PORT || "8787";
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`SANDBAR_PORT must be a port number, not ${JSON.stringify(text)}`);
  return port;
}

/** Says at once what the control plane would only say in its log. */
export async function ensureListenable(host: string, port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new Error(
          error.code === "EADDRINUSE"
            ? `port ${port} is taken; set SANDBAR_PORT to another one`
            : `cannot listen on ${host}:${port} (SANDBAR_HOST, SANDBAR_PORT): ${error.message}`,
        ),
      ),
    );
    server.listen(port, host, () => server.close(() => resolve()));
  });
}
