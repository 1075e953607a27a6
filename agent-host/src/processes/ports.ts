/**
 * One request to a server inside a session, over a byte stream that the guest opens to its loopback. The answer's head
 * goes back with the question's answer, bodies go by transfers, WebSockets are joined message by message.
 *
 * @module
 */
import http from "node:http";
import type { Socket } from "node:net";
import { HEADERS_LIMIT, type PortAnswer, type PortRequest, SandbarError } from "@sandbar/shared";
import WebSocket from "ws";
import type { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import {
  closeLike,
  dialGuest,
  MESSAGE_LIMIT_BYTES,
  sendPaced,
  type TunnelGuest,
  type Tunnels,
} from "../guest/tunnels.ts";
import type { Log } from "../host/log.ts";

const UPGRADE_MS = 30_000;
const NO_BODY = new Set([204, 205, 304]);

export type PortGuest = TunnelGuest;

export async function requestPort(
  guest: PortGuest,
  tunnels: Tunnels,
  control: ControlPlaneHttp,
  request: PortRequest,
  log: Log,
): Promise<PortAnswer> {
  const socket = await dialGuest(guest, { port: request.port });
  return request.socket === null
    ? requestHttp(socket, control, request, log)
    : requestSocket(
        socket,
        (protocol) => tunnels.dial(request.socket!, guest.idleMs, protocol),
        control,
        request,
        log,
      );
}

async function requestHttp(
  socket: Socket,
  control: ControlPlaneHttp,
  { method, path, headers, body, response, port }: PortRequest,
  log: Log,
): Promise<PortAnswer> {
  const request = destroyedIfThrown(socket, () =>
    http.request({
      method,
      path,
      // Flat name, value, name, value: repeated ones stay apart and in order.
      headers: [...headers.flatMap(([name, value]) => [name, onWire(value)]), "Connection", "close"],
      setHost: false,
      createConnection: () => flowing(socket),
    }),
  );
  const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once("response", resolve);
    request.once("error", (error) => reject(silent(port, error)));
    // Without an error: an upgrade that nobody asked for.
    request.once("close", () => reject(silent(port, new Error("the connection was closed"))));
  });
  request.on("error", () => {});
  if (body === null) request.end();
  else
    control.pull(body).then(
      (source) => {
        source.once("error", (error) => request.destroy(error));
        request.once("close", () => source.destroy());
        source.pipe(request);
      },
      (error) => request.destroy(error),
    );
  return deliver(await answered, method, control, response, log);
}

async function requestSocket(
  socket: Socket,
  dial: (protocol: string) => WebSocket,
  control: ControlPlaneHttp,
  { path, headers, protocols, port, response }: PortRequest,
  log: Log,
): Promise<PortAnswer> {
  const server = destroyedIfThrown(
    socket,
    () =>
      new WebSocket(`ws://localhost:${port}${path}`, protocols, {
        createConnection: () => flowing(socket),
        headers: Object.fromEntries(headers.map(([name, value]) => [name, onWire(value)])),
        perMessageDeflate: false,
        maxPayload: MESSAGE_LIMIT_BYTES,
        handshakeTimeout: UPGRADE_MS,
      }),
  );
  return new Promise((resolve, reject) => {
    server.once("unexpected-response", (_request, answer) => {
      try {
        resolve(deliver(answer, "GET", control, response, log));
      } catch (error) {
        reject(error);
      }
    });
    server.once("error", (error) => {
      socket.destroy();
      reject(silent(port, error));
    });
    server.once("open", () => {
      // Nothing may be read before there is somebody to pass it to.
      server.pause();
      const client = dial(server.protocol);
      client.on("error", (error) => {
        log.debug({ err: error, port }, "port's tunnel");
        server.terminate();
      });
      client.once("open", () => {
        if (server.readyState !== WebSocket.OPEN) return client.close(1011, "the server is gone");
        join(server, client);
        join(client, server);
        server.resume();
      });
      resolve({ upgraded: true });
    });
  });
}

/** Its listeners are there in the next turn; a server of HTTP does not speak first. */
function flowing(socket: Socket): Socket {
  setImmediate(() => socket.resume());
  return socket;
}

/** Node takes a header's characters for bytes, Workers take its bytes for UTF-8. */
const onWire = (value: string) => Buffer.from(value, "utf8").toString("latin1");
const fromWire = (value: string) => Buffer.from(value, "latin1").toString("utf8");

function destroyedIfThrown<T>(socket: Socket, make: () => T): T {
  try {
    return make();
  } catch (error) {
    socket.destroy();
    throw new SandbarError("VALIDATION_FAILED", `the request cannot be made: ${(error as Error).message}`);
  }
}

function join(source: WebSocket, target: WebSocket): void {
  source.on("message", (data: Buffer, binary) => sendPaced(target, data, binary, source));
  source.on("error", () => {});
  source.once("close", (code, reason) => closeLike(target, code, reason.toString()));
}

/** The body goes on its way; the head is the answer. */
function deliver(
  answer: http.IncomingMessage,
  method: string,
  control: ControlPlaneHttp,
  grant: string,
  log: Log,
): PortAnswer {
  const status = answer.statusCode ?? 0;
  const length = answer.headers["content-length"];
  const refusal = refusalOf(answer, status, length);
  if (refusal) {
    answer.destroy();
    throw new SandbarError("PORT_CLOSED", refusal);
  }
  const headers: [string, string][] = [];
  for (let i = 0; i < answer.rawHeaders.length; i += 2)
    headers.push([answer.rawHeaders[i]!, fromWire(answer.rawHeaders[i + 1]!)]);
  if (method === "HEAD" || NO_BODY.has(status)) {
    answer.destroy();
    return { status, headers, has_body: false };
  }
  control
    .push(grant, answer, length === undefined ? null : Number(length))
    .catch((error) => log.debug({ err: error }, "a port's answer was cut"))
    .finally(() => answer.destroy());
  return { status, headers, has_body: true };
}

/** Why an answer cannot be passed on; null when it can. */
function refusalOf(answer: http.IncomingMessage, status: number, length?: string): string | null {
  if (status < 200 || status > 599) return `the server answered with the status ${status}`;
  if (answer.rawHeaders.length > 2 * HEADERS_LIMIT)
    return `the server's answer has more than ${HEADERS_LIMIT} headers`;
  if (length !== undefined && !Number.isSafeInteger(Number(length)))
    return "the length of the server's answer is no number of bytes";
  // It came with its head already, and cannot be read.
  if (answer.socket.destroyed && !answer.complete) return "the server's answer is not HTTP";
  return null;
}

function silent(port: number, error: Error): SandbarError {
  if (error instanceof SandbarError) return error;
  return new SandbarError("PORT_CLOSED", `the server on port ${port} gave no answer: ${error.message}`);
}
