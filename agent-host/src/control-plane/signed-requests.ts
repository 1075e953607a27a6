/**
 * HTTP to the control plane, each request signed with the host's key for one session, method, path and query.
 *
 * @module
 */
import { createPrivateKey, type KeyObject, randomUUID, sign } from "node:crypto";
import http from "node:http";
import https from "node:https";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ERRORS, type Problem, ProblemSchema, readJson, SandbarError } from "@sandbar/shared";
import type { Identity } from "../host/identity.ts";

/** Neither side moved a byte for so long. */
const STALL_MS = 60_000;
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
const PROOF_S = 60;
const PROOF_HEADER = base64url({ alg: "EdDSA" });

/** In whose name a request is made. */
export interface Claim {
  readonly tenant: string;
  readonly session: string;
}

/** Buffers, one after another, or so many bytes of a stream. */
export type Body = readonly Buffer[] | { readonly length: number; readonly stream: Readable };

/** The request may never have arrived, or its answer was lost: making it again may help. */
export class Unreachable extends Error {}

export class SignedRequests {
  readonly #url: string;
  readonly #host: string;
  readonly #key: KeyObject;
  readonly #agent: http.Agent;

  constructor(url: string, identity: Identity) {
    this.#url = url;
    this.#host = identity.host_id;
    this.#key = createPrivateKey({ key: identity.private_key, format: "jwk" });
    const options = { keepAlive: true, maxFreeSockets: 4 };
    this.#agent = url.startsWith("https:") ? new https.Agent(options) : new http.Agent(options);
  }

  /** Its JSON answer; null for an empty one. */
  async request(
    claim: Claim,
    method: "POST" | "PUT",
    path: string,
    body: Body | object,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const bytes = Array.isArray(body) || "stream" in body;
    const { text } = await send(
      new URL(`${this.#url}${path}`),
      {
        method,
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${this.#proof(claim, method, path)}`,
          "content-type": bytes ? "application/octet-stream" : "application/json",
        },
      },
      bytes ? (body as Body) : [Buffer.from(JSON.stringify(body))],
      signal,
    );
    return text === "" ? null : JSON.parse(text);
  }

  /** A JSON question whose answer is bytes. */
  async open(claim: Claim, path: string, body: object, signal: AbortSignal): Promise<http.IncomingMessage> {
    const headers = {
      authorization: `Bearer ${this.#proof(claim, "POST", path)}`,
      "content-type": "application/json",
    };
    const options = { method: "POST", agent: this.#agent, headers };
    const answer = await answerTo(
      new URL(`${this.#url}${path}`),
      options,
      [Buffer.from(JSON.stringify(body))],
      signal,
    );
    if (answer.statusCode === 200) return answer;
    throw refusal(answer.statusCode ?? 0, await readText(answer));
  }

  /** A JWT. Signed here and now: WebCrypto's way through a thread takes ten times as long, on the path of every artifact. */
  #proof({ tenant, session }: Claim, method: string, path: string): string {
    const iat = Math.floor(Date.now() / 1000);
    const { pathname, search } = new URL(path, this.#url);
    const claims = {
      tenant,
      session,
      htm: method,
      htu: pathname + search,
      sub: this.#host,
      jti: randomUUID(),
      iat,
      exp: iat + PROOF_S,
    };
    const signed = `${PROOF_HEADER}.${base64url(claims)}`;
    return `${signed}.${sign(null, Buffer.from(signed), this.#key).toString("base64url")}`;
  }
}

/** To a presigned URL, which carries its own proof. */
export async function putPresigned(url: string, body: Body, signal?: AbortSignal): Promise<string> {
  const { headers } = await send(new URL(url), { method: "PUT" }, body, signal);
  if (!headers.etag) throw new Unreachable("the store did not name what it took");
  return headers.etag.replaceAll('"', "");
}

async function send(
  url: URL,
  options: http.RequestOptions,
  body: Body,
  signal?: AbortSignal,
): Promise<{ text: string; headers: http.IncomingHttpHeaders }> {
  const answer = await answerTo(url, options, body, signal);
  let text: string;
  try {
    text = await readText(answer);
  } catch (error) {
    if ("stream" in body) body.stream.destroy();
    if (signal?.aborted) throw signal.reason;
    throw new Unreachable((error as Error).message);
  }
  const status = answer.statusCode ?? 0;
  if (status >= 200 && status < 300) return { text, headers: answer.headers };
  if ("stream" in body) body.stream.destroy();
  throw refusal(status, text);
}

async function answerTo(
  url: URL,
  options: http.RequestOptions,
  body: Body,
  signal?: AbortSignal,
): Promise<http.IncomingMessage> {
  const length = "stream" in body ? body.length : body.reduce((sum, part) => sum + part.length, 0);
  const outgoing = (url.protocol === "https:" ? https : http).request(url, {
    ...options,
    ...(signal ? { signal } : {}),
    timeout: STALL_MS,
    headers: { ...options.headers, "content-length": length },
  });
  outgoing.on("timeout", () => outgoing.destroy(new Error(`no byte moved for ${STALL_MS / 1000} s`)));
  const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
  });
  answered.catch(() => {});
  let failure: unknown;
  if ("stream" in body)
    pipeline(body.stream, outgoing).catch((error) => {
      failure = error;
      outgoing.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  else {
    outgoing.cork();
    for (const part of body) outgoing.write(part);
    outgoing.end();
  }
  try {
    return await answered;
  } catch (error) {
    if ("stream" in body) body.stream.destroy();
    if (failure instanceof SandbarError) throw failure;
    if (signal?.aborted) throw signal.reason;
    throw new Unreachable((error as Error).message);
  }
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function refusal(status: number, text: string): Error {
  const problem = ProblemSchema.safeParse(readJson(text));
  if (!problem.success) {
    const detail = `the control plane answered ${status}`;
    return status >= 500 || status === 429 ? new Unreachable(detail) : new SandbarError("HOST_ERROR", detail);
  }
  return refusalOf(problem.data);
}

export function refusalOf({ code, detail }: Problem): Error {
  return ERRORS[code].status >= 500 || ERRORS[code].status === 429
    ? new Unreachable(`${code}: ${detail}`)
    : new SandbarError(code, detail);
}

async function readText(answer: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer) {
    length += (chunk as Buffer).length;
    if (length > ANSWER_LIMIT_BYTES) throw new Error("the answer is too long");
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}
