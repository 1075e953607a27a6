/**
 * Connections to hosts that get a secret: TLS ends here, with a certificate of the sandbox's own authority, and begins
 * anew towards the server, whose certificate is checked. In between each request gets the headers that code never sees.
 *
 * @module
 */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { type Certificate, issue } from "./authority.ts";
import {
  forwardRequest,
  forwardUpgrade,
  refuse,
  refuseRaw,
  requireClient,
  type Upstream,
} from "./forward.ts";
import { Refusal } from "./refusal.ts";
import type { Address } from "./resolve.ts";
import { bare, shown, type Target } from "./target.ts";
import { outOfTurn, Turns } from "./turns.ts";

const HANDSHAKE_MS = 10_000;
const IDLE_MS = 60_000;
const CERTIFICATE_LIMIT = 64;

export interface InterceptedOptions {
  /** Of this sandbox. */
  authority(): Promise<Certificate>;
  /** Whom this host trusts. */
  trusted(): Promise<string[]>;
  /** Names and values of what a request to the target gets. */
  headersFor(target: Target): Promise<string[]>;
}

interface Route {
  readonly target: Target;
  readonly addresses: readonly Address[];
}

export class Intercepted {
  readonly #options: InterceptedOptions;
  readonly #server: http.Server;
  readonly #routes = new WeakMap<Socket, Route>();
  readonly #turns = new Turns();
  #trust: Promise<SecureContext> | null = null;
  readonly #certificates = new Map<string, Promise<Certificate>>();

  constructor(options: InterceptedOptions) {
    this.#options = options;
    this.#server = http.createServer({
      keepAliveTimeout: IDLE_MS,
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    });
    this.#server.on("request", (request, response) => void this.#request(request, response));
    this.#server.on(
      "upgrade",
      (request, client, head) => void this.#upgrade(request, client as Socket, head),
    );
    this.#server.on("clientError", (_error, client) => {
      if (client.writable)
        refuseRaw(client as Socket, new Refusal(400, "this is no request that can be read"));
    });
  }

  /** After CONNECT was answered, until the connection ends. */
  async serve(client: Socket, route: Route, first: Buffer): Promise<void> {
    // Not once(): it would fail with an error of the connection, before anybody waits for it.
    const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
    const certificate = await this.#certificate(bare(route.target.host));
    requireClient(client);
    if (first.length > 0) client.unshift(first);
    const secure = new TLSSocket(client, {
      isServer: true,
      secureContext: createSecureContext(certificate),
      ALPNProtocols: ["http/1.1"],
    });
    let failure: Error | null = null;
    const deadline = setTimeout(() => client.destroy(), HANDSHAKE_MS);
    secure.on("error", (error) => {
      failure ??= new Error(`TLS with the sandbox: ${error.message}`);
      client.destroy();
    });
    secure.once("secure", () => {
      clearTimeout(deadline);
      this.#routes.set(secure, route);
      this.#server.emit("connection", secure);
    });
    await closed;
    clearTimeout(deadline);
    secure.destroy();
    if (failure && !this.#routes.has(secure)) throw failure;
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#turns.take(request.socket)) return refuse(response, outOfTurn());
    try {
      await forwardRequest(await this.#upstream(request), request, response);
      this.#turns.pass(request.socket);
    } catch (error) {
      refuse(response, error);
    }
  }

  async #upgrade(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    if (!this.#turns.take(client)) return void client.destroy();
    try {
      await forwardUpgrade(await this.#upstream(request), request, client, head);
    } catch (error) {
      refuseRaw(client, error);
    }
  }

  async #upstream({ method, url = "", socket }: IncomingMessage): Promise<Upstream> {
    const route = this.#routes.get(socket);
    if (!route) throw new Error("the connection is not known");
    // An answer to TRACE would show the request with everything that was added.
    if (method === "TRACE") throw new Refusal(405, "TRACE is not passed on");
    if (!url.startsWith("/") && url !== "*")
      throw new Refusal(400, `ask ${shown(route.target)} for a path, not for a URL`);
    const [added, trust] = await Promise.all([this.#options.headersFor(route.target), this.#whomToTrust()]);
    return { ...route, path: url, added, trust };
  }

  /** Made once: to read all those certificates takes longer than a request. */
  #whomToTrust(): Promise<SecureContext> {
    this.#trust ??= this.#options.trusted().then((ca) => createSecureContext({ ca }));
    this.#trust.catch(() => {
      this.#trust = null;
    });
    return this.#trust;
  }

  #certificate(host: string): Promise<Certificate> {
    const known = this.#certificates.get(host);
    if (known) return known;
    const made = this.#options.authority().then((authority) => issue(authority, host));
    made.catch(() => this.#certificates.delete(host));
    this.#certificates.set(host, made);
    const [oldest] = this.#certificates.keys();
    if (oldest !== undefined && this.#certificates.size > CERTIFICATE_LIMIT)
      this.#certificates.delete(oldest);
    return made;
  }
}
