/** @module `GET /metrics` on the loopback, for Prometheus. */
import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";
import type { Log } from "../host/log.ts";

const AGAIN_MS = 5_000;
/** A page in a browser of this machine could have a name that leads here. */
const LOCAL = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;

export class MetricsServer {
  readonly #port: number;
  readonly #log: Log;
  readonly #server: Server;
  #again: NodeJS.Timeout | null = null;
  #told = false;

  constructor(port: number, registry: Registry, log: Log) {
    this.#port = port;
    this.#log = log;
    this.#server = createServer(async (request, answer) => {
      if (!LOCAL.test(request.headers.host ?? "")) return void answer.writeHead(403).end();
      if (request.method !== "GET" || request.url?.split("?")[0] !== "/metrics")
        return void answer.writeHead(404).end("GET /metrics\n");
      try {
        const text = await registry.metrics();
        answer.writeHead(200, { "Content-Type": registry.contentType }).end(text);
      } catch (error) {
        log.warn({ err: error }, "the figures could not be read");
        answer.writeHead(500).end();
      }
    });
    this.#server.on("error", (error) => this.#failed(error));
    this.#server.on("listening", () => log.info({ port }, "figures are served"));
  }

  start(): void {
    this.#server.listen(this.#port, "127.0.0.1");
  }

  stop(): void {
    if (this.#again) clearTimeout(this.#again);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Whoever has the port may go; sessions do not wait for it. */
  #failed(error: Error): void {
    if (!this.#told) this.#log.error({ err: error, port: this.#port }, "figures cannot be served now");
    this.#told = true;
    this.#again = setTimeout(() => this.start(), AGAIN_MS);
  }
}
