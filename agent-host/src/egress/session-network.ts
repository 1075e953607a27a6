/**
 * One session's way out: an HTTP proxy for the connections that its guest carries here. Only what the rules name is
 * connected, at the address that was checked. Redirects are the client's: each is a new request.
 *
 * @module
 */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import net, { type Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { type NetworkUse, PROXIED_LIMIT, type SecretValues, type SessionRules } from "@sandbar/shared";
import {
  forwardRequest,
  forwardUpgrade,
  joined,
  refuse,
  refuseRaw,
  requireClient,
  unreachable,
} from "./forward.ts";
import { addressesOf, type GateParts, isNamed, pinned, requireNamed } from "./gate.ts";
import { Intercepted, type InterceptedOptions } from "./intercepted.ts";
import { type Passage, Passages, type TellPassages } from "./passages.ts";
import { Refusal } from "./refusal.ts";
import { SessionSecrets, secretsFor } from "./session-secrets.ts";
import { bare, readAbsolute, readAuthority, type Target } from "./target.ts";
import { outOfTurn, Turns } from "./turns.ts";

const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";
const CONNECT_MS = 10_000;
const IDLE_MS = 60_000;

export interface SessionNetworkOptions extends GateParts, Pick<InterceptedOptions, "authority" | "trusted"> {
  readonly rules: SessionRules;
  readonly tell: TellPassages;
  askSecrets(): Promise<SecretValues>;
}

export class SessionNetwork {
  readonly #gate: GateParts;
  readonly #passages: Passages;
  readonly #server: http.Server;
  readonly #clients = new Set<Socket>();
  readonly #turns = new Turns();
  readonly #intercepted: Intercepted;
  #rules: SessionRules;
  #held: { readonly until: number; readonly reason: string } | null = null;

  constructor({ rules, tell, askSecrets, authority, trusted, ...gate }: SessionNetworkOptions) {
    this.#gate = gate;
    this.#rules = rules;
    const secrets = new SessionSecrets(askSecrets);
    this.#intercepted = new Intercepted({
      authority,
      trusted,
      headersFor: (target) => secrets.headersFor(target, this.#rules.version),
    });
    this.#passages = new Passages(tell);
    // It listens nowhere: connections are given to it.
    this.#server = http.createServer({
      keepAliveTimeout: IDLE_MS,
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    });
    this.#server.on("request", (request, response) => void this.#request(request, response));
    this.#server.on(
      "connect",
      (request, client, head) => void this.#connect(request, client as Socket, head),
    );
    this.#server.on(
      "upgrade",
      (request, client, head) => void this.#upgrade(request, client as Socket, head),
    );
    this.#server.on("clientError", (_error, client) => {
      if (client.writable)
        refuseRaw(client as Socket, new Refusal(400, "this is no request that a proxy can read"));
    });
  }

  /** What the daemon knows of it; with the version of the rules that hold. */
  get state(): { version: number; use: NetworkUse } {
    return { version: this.#rules.version, use: this.#passages.use };
  }

  /** For new connections at once; those that are not allowed any more end. */
  set rules(rules: SessionRules) {
    const before = this.#rules;
    this.#rules = rules;
    // What went with other secrets begins anew, too.
    const same = (target: Target) =>
      isDeepStrictEqual(secretsFor(before.secrets, target), secretsFor(rules.secrets, target));
    this.#passages.review((target) => isNamed(rules, target) && same(target));
  }

  /** Nothing is connected until then. */
  hold(until: number, reason: string): void {
    this.#held = { until, reason };
    this.#passages.review(() => Date.now() >= until, reason);
  }

  /** From the guest, after its first line. Paused until now. */
  serve(client: Socket): void {
    if (this.#clients.size >= PROXIED_LIMIT) {
      client.destroy();
      return;
    }
    this.#clients.add(client);
    client.once("close", () => this.#clients.delete(client));
    this.#server.emit("connection", client);
    // What came with the first line is read before anything new: both happen before the next turn of the loop.
    client.resume();
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#turns.take(request.socket)) return refuse(response, outOfTurn());
    const target = readAbsolute(request.url);
    if (!target)
      return refuse(
        response,
        new Refusal(400, "this is a proxy: ask for http://host/path, or CONNECT host:port"),
      );
    await this.#pass(
      target,
      request.socket,
      async () => {
        const addresses = await this.#addresses(target, request.socket);
        await forwardRequest({ target, addresses, path: target.path }, request, response);
        this.#turns.pass(request.socket);
      },
      (error) => refuse(response, error),
    );
  }

  async #upgrade(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    if (!this.#turns.take(client)) return void client.destroy();
    const target = readAbsolute(request.url?.replace(/^ws:/i, "http:"));
    if (!target) return refuseRaw(client, new Refusal(400, "this is a proxy: ask for http://host/path"));
    await this.#pass(
      target,
      client,
      async () => {
        const addresses = await this.#addresses(target, client);
        await forwardUpgrade({ target, addresses, path: target.path }, request, client, head);
      },
      (error) => refuseRaw(client, error),
    );
  }

  async #connect({ url }: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    if (!this.#turns.take(client)) return void client.destroy();
    const target = readAuthority(url);
    if (!target) return refuseRaw(client, new Refusal(400, "CONNECT wants host:port"));
    let open = false;
    await this.#pass(
      target,
      client,
      async () => {
        if (secretsFor(this.#rules.secrets, target).length > 0) {
          const addresses = await this.#addresses(target, client);
          open = true;
          client.write(ESTABLISHED);
          return this.#intercepted.serve(client, { target, addresses }, head);
        }
        const server = await this.#dial(target, client);
        open = true;
        client.write(ESTABLISHED);
        if (head.length > 0) server.write(head);
        await joined(client, server);
      },
      (error) => (open ? client.destroy() : refuseRaw(client, error)),
    );
  }

  async #pass(
    target: Target,
    client: Socket,
    work: () => Promise<void>,
    refused: (error: unknown) => void,
  ): Promise<void> {
    // Those of clients that have left may take a while to end.
    if (this.#passages.open >= PROXIED_LIMIT)
      return refused(new Refusal(503, `the session has ${PROXIED_LIMIT} connections already`));
    if (this.#held && Date.now() < this.#held.until) return refused(new Refusal(429, this.#held.reason));
    const passage: Passage = this.#passages.begin({ host: target.host, port: target.port }, client);
    try {
      await work();
      passage.end(null);
    } catch (error) {
      // First told, then counted: the answer's bytes belong to it.
      refused(error);
      passage.end(error as Error);
    }
  }

  async #addresses(target: Target, client: Socket) {
    requireNamed(this.#rules, target);
    const addresses = await addressesOf(this.#gate, target);
    // They may have changed while the name was looked up.
    requireNamed(this.#rules, target);
    requireClient(client);
    return addresses;
  }

  async #dial(target: Target, client: Socket): Promise<Socket> {
    const addresses = await this.#addresses(target, client);
    const server = net.connect({ host: bare(target.host), port: target.port, lookup: pinned(addresses) });
    server.setNoDelay(true).setKeepAlive(true, IDLE_MS);
    server.setTimeout(CONNECT_MS, () =>
      server.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`)),
    );
    client.once("close", () => server.destroy());
    await new Promise<void>((resolve, reject) => {
      server.once("connect", resolve);
      server.once("error", (error) => reject(unreachable(target, error)));
      server.once("close", () => reject(new Error("the client went away")));
    });
    server.setTimeout(0);
    server.on("error", () => {});
    return server;
  }
}
