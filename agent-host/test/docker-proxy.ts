/** @module A UNIX socket in front of Docker's that can go away and come back. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

export class DockerProxy {
  readonly #folder = mkdtempSync(path.join(tmpdir(), "sandbar-docker-"));
  readonly #sockets = new Set<net.Socket>();
  #server: net.Server | null = null;

  get file(): string {
    return path.join(this.#folder, "docker.sock");
  }

  async up(): Promise<void> {
    this.#server = net.createServer((client) => {
      const docker = net.connect("/var/run/docker.sock");
      for (const [from, to] of [
        [client, docker],
        [docker, client],
      ] as const) {
        this.#sockets.add(from);
        from.on("error", () => {});
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    this.#server.listen(this.file);
    await once(this.#server, "listening");
  }

  async down(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = null;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }

  async close(): Promise<void> {
    await this.down();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
