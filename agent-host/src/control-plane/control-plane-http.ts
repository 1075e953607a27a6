/**
 * Bulk bytes to and from the control plane: plain HTTP, streamed, each request allowed by a one-time grant. A cut on
 * either side is an error on the other.
 *
 * @module
 */
import http from "node:http";
import https from "node:https";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SandbarError } from "@sandbar/shared";
import { withRawBodies } from "../io/raw-body.ts";

/** The other side of a grant may take a while to come. */
const CONNECTION_SILENCE_MS = 150_000;

export class ControlPlaneHttp {
  readonly #url: string;
  readonly #request: typeof http.request;
  readonly #agent: http.Agent;
  readonly #pullAgent: http.Agent;

  constructor(url: string) {
    this.#url = url;
    const { request, Agent } = url.startsWith("https:") ? https : http;
    this.#request = request as typeof http.request;
    const options = { keepAlive: true, maxFreeSockets: 16, timeout: CONNECTION_SILENCE_MS };
    this.#agent = new Agent(options);
    this.#pullAgent = withRawBodies(new Agent(options));
  }

  /** Resolves when whoever takes the bytes has all of them. */
  async push(grant: string, source: Readable, length: number | null): Promise<void> {
    const headers = length === null ? {} : { "content-length": length };
    const request = this.#open(grant, "PUT", { "content-type": "application/octet-stream", ...headers });
    const answered = new Promise<number>((resolve, reject) => {
      request.once("error", reject);
      request.once("response", (response) => {
        response.resume();
        // An answer before the end of the body is a refusal: the rest need not be sent.
        if (!request.writableFinished) request.destroy();
        resolve(response.statusCode ?? 0);
      });
    });
    answered.catch(() => {});
    try {
      await pipeline(source, request);
    } catch (error) {
      source.destroy();
      this.#breakOff(grant);
      throw cut(error);
    }
    const status = await answered.catch((error) => Promise.reject(cut(error)));
    if (status >= 300) throw new SandbarError("TRANSFER_FAILED", `the control plane answered ${status}`);
  }

  /** Whoever waits for the bytes must hear that none will come, also when the request had not even left. */
  #breakOff(grant: string): void {
    const request = this.#open(grant, "PUT", { "content-length": 2, connection: "close" });
    request.on("error", () => {});
    request.once("response", (response) => response.resume());
    request.write("x", () => request.destroy());
  }

  /** The bytes of whoever gives them. The stream fails when that is cut. It can be pumped. */
  async pull(grant: string): Promise<http.IncomingMessage> {
    const request = this.#open(grant, "GET", {}, this.#pullAgent);
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once("error", (error) => reject(cut(error)));
      request.once("response", resolve);
      request.end();
    });
    if (response.statusCode === 200) return response;
    response.resume();
    throw new SandbarError("TRANSFER_FAILED", `the control plane answered ${response.statusCode}`);
  }

  #open(
    grant: string,
    method: string,
    headers: http.OutgoingHttpHeaders,
    agent = this.#agent,
  ): http.ClientRequest {
    const url = `${this.#url}/agent/transfers/${grant}`;
    const request = this.#request(url, { method, headers, agent });
    request.once("timeout", () => request.destroy(new Error("the connection is silent")));
    return request;
  }
}

function cut(error: unknown): Error {
  if (error instanceof SandbarError) return error;
  return new SandbarError(
    "TRANSFER_FAILED",
    `the connection to the control plane: ${(error as Error).message}`,
  );
}
