/** @module One request of HTTP on its way to its server, and the answer back. */
import http, { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import https from "node:https";
import { isIP, type Socket } from "node:net";
import { pipeline } from "node:stream";
import type { ConnectionOptions, SecureContext } from "node:tls";
import { pinned } from "./gate.ts";
import { endToEnd } from "./hop-headers.ts";
import { answerOf, Refusal } from "./refusal.ts";
import type { Address } from "./resolve.ts";
import { bare, shown, type Target } from "./target.ts";

const CONNECT_MS = 10_000;
const LEAVING_MS = 60_000;

export interface Upstream {
  readonly target: Target;
  /** Checked; nobody is asked again. */
  readonly addresses: readonly Address[];
  readonly path: string;
  /** Of a server that speaks TLS: whom to trust. */
  readonly trust?: SecureContext;
  /** Headers, names and values, that stand instead of the client's. */
  readonly added?: readonly string[];
}

/** Resolves when the answer has been passed on whole, and rejects when something broke. */
export async function forwardRequest(
  upstream: Upstream,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  requireClient(request.socket);
  const framing = request.headers["transfer-encoding"] === undefined ? [] : ["Transfer-Encoding", "chunked"];
  const outgoing = start(upstream, request, framing);
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      outgoing.destroy();
      reject(error);
    };
    outgoing.on("error", (error) => fail(unreachable(upstream.target, error)));
    response.on("close", () =>
      response.writableFinished ? resolve() : fail(new Error("the client went away")),
    );
    outgoing.on("response", (answer) => {
      try {
        const { status, reason } = lineOf(upstream.target, answer);
        response.writeHead(status, reason, endToEnd(answer.rawHeaders));
      } catch (error) {
        return fail(error as Error);
      }
      pipeline(answer, response, (error) => {
        if (error) fail(error);
      });
    });
    request.on("error", fail);
    request.pipe(outgoing);
  });
}

/** A WebSocket: what follows the server's consent is passed on as it is. */
export async function forwardUpgrade(
  upstream: Upstream,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  requireClient(client);
  const outgoing = start(upstream, request, ["Connection", "Upgrade", "Upgrade", "websocket"]);
  return new Promise((resolve, reject) => {
    client.on("close", () => outgoing.destroy());
    outgoing.on("error", (error) => reject(unreachable(upstream.target, error)));
    outgoing.on("upgrade", (answer, server, first) => {
      client.write(
        headOf(101, STATUS_CODES[101]!, answer, ["Connection", "Upgrade", "Upgrade", "websocket"]),
      );
      if (first.length > 0) client.write(first);
      if (head.length > 0) server.write(head);
      joined(client, server as Socket).then(resolve, reject);
    });
    outgoing.on("response", (answer) => {
      try {
        const { status, reason } = lineOf(upstream.target, answer);
        client.write(headOf(status, reason, answer, ["Connection", "close"]));
      } catch (error) {
        outgoing.destroy();
        return reject(error);
      }
      pipeline(answer, client, (error) => (error ? reject(error) : resolve()));
    });
    outgoing.end();
  });
}

/** Bytes in both directions until one side has ended and the other has had everything. However they end, that is theirs. */
export function joined(client: Socket, server: Socket): Promise<void> {
  return new Promise((resolve) => {
    for (const [end, peer] of [
      [client, server],
      [server, client],
    ] as const) {
      const over = () => {
        // A server that takes nothing of the rest is not waited for; the client ends with its session.
        if (peer === server) peer.setTimeout(LEAVING_MS, () => peer.destroy());
        peer.destroySoon();
        if (peer.closed) resolve();
      };
      end.on("error", () => end.destroy());
      if (end.closed) over();
      else end.once("close", over);
      end.pipe(peer);
    }
  });
}

/** Asked after every wait: whom nobody listens to any more would keep what is opened for it. */
export function requireClient(client: Socket): void {
  if (client.destroyed) throw new Error("the client went away");
}

/** Of a client that waits for an answer, or has had its head already. */
export function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const refusal = error instanceof Refusal ? error : new Refusal(502, String((error as Error).message));
  response.shouldKeepAlive = false;
  // Named, since a reason that was refused a moment ago would be used again.
  response.writeHead(refusal.status, STATUS_CODES[refusal.status], {
    "content-type": "text/plain; charset=utf-8",
  });
  response.end(`sandbar: ${refusal.message}\n`);
}

export function refuseRaw(client: Socket, error: unknown): void {
  client.end(answerOf(error instanceof Refusal ? error : new Refusal(502, String((error as Error).message))));
}

export function unreachable(target: Target, error: Error): Refusal {
  return new Refusal(502, `${shown(target)} could not be reached (${error.message})`);
}

function start(upstream: Upstream, request: IncomingMessage, more: string[]): http.ClientRequest {
  const { target, addresses, path, trust, added = [] } = upstream;
  const { host, port } = target;
  const ours = added.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  // Whose header says something else would speak to another server behind the same address.
  const name = port === (trust ? 443 : 80) ? host : shown(target);
  const headers = [...endToEnd(request.rawHeaders, ["host", "expect", ...ours]), "Host", name, ...added];
  const options = {
    ...{ host: bare(host), port, path, method: request.method },
    lookup: pinned(addresses),
    agent: false as const,
    timeout: CONNECT_MS,
    headers: [...headers, ...more],
  };
  const outgoing = trust ? https.request(secured(options, host, trust)) : http.request(options);
  // It is the connection that may take no longer; the answer may.
  const connected = trust ? "secureConnect" : "connect";
  outgoing.on("socket", (socket) => socket.once(connected, () => socket.setTimeout(0)));
  outgoing.on("timeout", () => outgoing.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`)));
  return outgoing;
}

function secured(
  options: http.RequestOptions,
  host: string,
  secureContext: SecureContext,
): https.RequestOptions & Pick<ConnectionOptions, "secureContext"> {
  return { ...options, secureContext, ...(isIP(bare(host)) ? {} : { servername: host }) };
}

/** What Node reads but would not write: other programs of this kind are no more careful than it is. */
function lineOf(target: Target, { statusCode = 0, statusMessage = "" }: IncomingMessage) {
  if (statusCode < 200) throw new Refusal(502, `${shown(target)} answered ${statusCode}, which is no answer`);
  const readable = /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage);
  return { status: statusCode, reason: readable ? statusMessage : (STATUS_CODES[statusCode] ?? "") };
}

function headOf(status: number, reason: string, answer: IncomingMessage, more: string[]): string {
  const headers = [...endToEnd(answer.rawHeaders), ...more];
  let text = `HTTP/1.1 ${status} ${reason}\r\n`;
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return `${text}\r\n`;
}
