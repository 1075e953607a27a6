/** @module Requests that a kernel's code makes, carried out here: the kernel's own process can reach nothing. */
import http from "node:http";
import https from "node:https";
import { pipeline, type Readable } from "node:stream";
import zlib from "node:zlib";
import { FETCHES, type FetchRequest } from "../kernel/wire.ts";
import { FETCH_CHUNK_BYTES, REDIRECTS } from "./limits.ts";
import type { HostReach } from "./reach.ts";

const REDIRECT_STATUS = new Set([301, 302, 303, 307, 308]);
/** Whose meaning is between two hops. */
const OWN_HEADERS =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i;
const SECRET_HEADERS = /^(authorization|cookie)$/i;
const DECODERS: Record<string, () => NodeJS.ReadWriteStream> = {
  gzip: zlib.createGunzip,
  "x-gzip": zlib.createGunzip,
  deflate: zlib.createInflate,
  br: zlib.createBrotliDecompress,
  zstd: zlib.createZstdDecompress,
};
const ENCODINGS = "gzip, deflate, br, zstd";

type Headers = [string, string][];

interface Going {
  readonly stop: AbortController;
  body: Readable | null;
  /** Chunks that were asked for and not sent yet. */
  wanted: number;
}

export interface FetchAnswers {
  say(message: object): void;
  chunk(id: number, data: Uint8Array): void;
}

export class Fetches {
  readonly #reach: HostReach | null;
  readonly #answers: FetchAnswers;
  readonly #going = new Map<number, Going>();

  constructor(reach: HostReach | null, answers: FetchAnswers) {
    this.#reach = reach;
    this.#answers = answers;
  }

  /** Whatever comes is user code's. */
  onMessage({ op, id, ...request }: Record<string, unknown>): void {
    if (!Number.isSafeInteger(id) || (id as number) < 0 || (id as number) > 0xffffffff) return;
    const number = id as number;
    const going = this.#going.get(number);
    if (op === "fetch" && !going) void this.#begin(number, request as unknown as FetchRequest);
    else if (op === "fetch.cancel") this.#end(number);
    else if (op === "fetch.pull" && going) {
      going.wanted = Math.min(going.wanted + 1, 64);
      this.#feed(number, going);
    }
  }

  endAll(): void {
    for (const id of [...this.#going.keys()]) this.#end(id);
  }

  #end(id: number): void {
    const going = this.#going.get(id);
    this.#going.delete(id);
    going?.stop.abort();
    going?.body?.destroy();
  }

  async #begin(id: number, request: FetchRequest): Promise<void> {
    const going: Going = { stop: new AbortController(), body: null, wanted: 0 };
    try {
      if (!this.#reach) throw new Error("this session has no network");
      if (this.#going.size >= FETCHES) throw new Error(`more than ${FETCHES} requests at once`);
      this.#going.set(id, going);
      const { response, url, redirected } = await this.#follow(this.#reach, request, going.stop.signal);
      if (this.#going.get(id) !== going) return void response.destroy();
      const decoder = DECODERS[String(response.headers["content-encoding"] ?? "").toLowerCase()];
      const bare = response.statusCode === 204 || response.statusCode === 304 || request.method === "HEAD";
      going.body =
        decoder && !bare ? (pipeline(response, decoder(), () => {}) as unknown as Readable) : response;
      const { statusCode: status = 0, statusMessage = "" } = response;
      const headers = pairs(response.rawHeaders).filter(
        ([name]) => !going.body || going.body === response || !/^content-(encoding|length)$/i.test(name),
      );
      this.#answers.say({
        op: "fetched",
        id,
        status,
        text: statusMessage,
        headers,
        url: url.href,
        redirected,
      });
      going.body.on("readable", () => this.#feed(id, going));
      going.body.on("end", () => this.#feed(id, going));
      going.body.on("error", (error) => this.#fail(id, going, error));
      this.#feed(id, going);
    } catch (error) {
      this.#fail(id, going, error as Error);
    }
  }

  #fail(id: number, going: Going, error: Error): void {
    if (going.stop.signal.aborted) return;
    this.#answers.say({ op: "fetch.failed", id, error: reasonOf(error) });
    this.#end(id);
  }

  /** One chunk for each that was asked for: what the code does not take stays in the socket. */
  #feed(id: number, going: Going): void {
    const { body } = going;
    if (!body || this.#going.get(id) !== going) return;
    while (going.wanted > 0) {
      const data: Buffer | null = body.read(Math.min(FETCH_CHUNK_BYTES, body.readableLength || 1));
      if (data === null) break;
      going.wanted--;
      this.#answers.chunk(id, data);
    }
    if (!body.readableEnded || going.wanted === 0) return;
    this.#answers.chunk(id, new Uint8Array());
    this.#end(id);
  }

  async #follow(reach: HostReach, asked: FetchRequest, signal: AbortSignal) {
    let url = new URL(asked.url);
    let { method } = asked;
    let body = asked.body === null ? null : Buffer.from(asked.body, "base64");
    let headers = asked.headers.filter(([name]) => !OWN_HEADERS.test(name));
    for (let redirects = 0; ; redirects++) {
      const response = await send(reach, url, method, headers, body, signal);
      const { location } = response.headers;
      if (
        asked.redirect === "manual" ||
        !REDIRECT_STATUS.has(response.statusCode ?? 0) ||
        location === undefined
      )
        return { response, url, redirected: redirects > 0 };
      response.destroy();
      if (asked.redirect === "error") throw new Error("the server redirects, which was not wanted");
      if (redirects === REDIRECTS) throw new Error(`more than ${REDIRECTS} redirects`);
      const next = new URL(location, url);
      const status = response.statusCode;
      if (
        (status === 303 && method !== "HEAD") ||
        (method === "POST" && (status === 301 || status === 302))
      ) {
        method = "GET";
        body = null;
        headers = headers.filter(([name]) => !/^content-/i.test(name));
      }
      if (next.origin !== url.origin) headers = headers.filter(([name]) => !SECRET_HEADERS.test(name));
      url = next;
    }
  }
}

function send(
  reach: HostReach,
  url: URL,
  method: string,
  headers: Headers,
  body: Buffer | null,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`${url.protocol} is not for requests`);
  reach.requireHost(url);
  const all: Record<string, string | string[]> = {
    "user-agent": "sandbar",
    accept: "*/*",
    "accept-encoding": ENCODINGS,
  };
  for (const [name, value] of headers) all[name.toLowerCase()] = value;
  if (body) all["content-length"] = String(body.length);
  const options = { method, headers: all, signal, agent: false, lookup: reach.lookup } as const;
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === "https:" ? https : http).request(url, options, resolve);
    outgoing.once("error", reject);
    outgoing.end(body ?? undefined);
  });
}

function pairs(raw: readonly string[]): Headers {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[at * 2]!, raw[at * 2 + 1]!]);
}

function reasonOf(error: Error): string {
  const { errors } = error as AggregateError;
  return (error.message || errors?.[0]?.message || error.name).slice(0, 500);
}
