/** @module Bytes between a client, sessions and stored content, each by a grant of its own. */
import {
  type Cause,
  type HostParams,
  type HostResult,
  type OpenedFile,
  SandbarError,
  type SessionMethod,
  type WrittenFile,
} from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { maxBodyBytes } from "../artifacts/settings.ts";
import type { Caller } from "../auth.ts";
import type { Env } from "../env.ts";
import { sessionObject } from "../rpc.ts";
import { newSecret } from "../tokens.ts";
import type { Side, TransferPlan } from "./joint.ts";

/** A read is answered when its first byte could be sent, a write when its last one is written. */
const READ_ANSWER_MS = 70_000;
const WRITE_ANSWER_MS = 6 * 3600_000;

export const GRANT = /^grt_[A-Za-z0-9_-]{43}$/;

/** The object of a grant: one of 64, by the secret's first character. */
export const transferObject = (env: Env, grant: string) => env.TRANSFERS.getByName(grant.slice(0, 5));

export type OpenTransfer = Awaited<ReturnType<typeof openTransfer>>;

/** The client's side of a transfer; the daemon comes to its other side by the grant. */
export async function openTransfer(env: Env, plan: TransferPlan) {
  const grant = newSecret("grt_");
  const object = transferObject(env, grant);
  await object.open(grant, plan);
  return {
    grant,
    fetch(init?: RequestInit): Promise<Response> {
      const met = object.fetch(`http://client/${grant}`, init);
      // Whoever asked the daemon hears why it failed, and need not wait for this.
      met.catch(() => {});
      return met;
    },
    cancel: (): Promise<void> => object.cancel(grant),
  };
}

/** What is asked for, without the grant under which it moves. */
type Ungranted<M extends SessionMethod> =
  HostParams<M> extends infer P ? (P extends unknown ? Omit<P, "grant"> : never) : never;
type Destination = Ungranted<"files.write"> & { gzip?: boolean };

export class Transfers {
  readonly #env: Env;
  readonly #tenant: string;
  readonly #key: string;
  readonly #cause: Cause;

  constructor(env: Env, { tenant, credential }: Caller, cause: Cause) {
    this.#cause = cause;
    this.#env = env;
    this.#tenant = tenant;
    this.#key = credential;
  }

  /** A file or folder of a session, for the client. */
  async download(
    session: string,
    params: Ungranted<"files.read">,
  ): Promise<{ opened: OpenedFile; body: ReadableStream | null }> {
    const { grant, fetch, cancel } = await this.#open("agent", "client", [session]);
    const bytes = fetch();
    const opened = await this.#ask(session, "files.read", { ...params, grant }, READ_ANSWER_MS, cancel);
    if (opened.unsatisfiable || opened.not_modified) {
      await cancel();
      return { opened, body: null };
    }
    return { opened, body: await bodyOf(bytes) };
  }

  /** Server-sent events that a session's host makes; who watches does not use the session. */
  async follow(session: string, params: Ungranted<"files.watch">): Promise<ReadableStream> {
    const { grant, fetch, cancel } = await this.#open("agent", "client", []);
    const bytes = fetch();
    await this.#ask(session, "files.watch", { ...params, grant }, READ_ANSWER_MS, cancel);
    return bodyOf(bytes);
  }

  /** The client's bytes, or stored ones, into a session. `size` is null when the giver does not know. */
  async upload(
    session: string,
    method: "files.write" | "files.untar",
    params: Destination,
    body: ReadableStream<Uint8Array> | null,
    size: number | null,
  ): Promise<WrittenFile> {
    const { grant, fetch, cancel } = await this.#open("client", "agent", [session], size);
    const given = fetch({ method: "PUT", body });
    const asked = { ...params, ...(size === null ? {} : { size }), grant };
    try {
      return await this.#ask(session, method, asked, WRITE_ANSWER_MS, cancel);
    } catch (error) {
      // The giver is let go first, and it may know better why the bytes ended.
      const status = await given.then(
        (response) => response.status,
        () => 0,
      );
      if (status === 413) throw tooLarge(maxBodyBytes(this.#env));
      throw error;
    }
  }

  /** From one session's host to another's, or to the same; a folder goes as an archive. */
  async copy(
    from: string,
    path: Ungranted<"files.read">,
    to: string,
    destination: Destination,
  ): Promise<WrittenFile> {
    const { grant, cancel } = await this.#open("agent", "agent", [from, to]);
    const read = { ...path, follow: true, grant };
    const { type, length } = await this.#ask(from, "files.read", read, READ_ANSWER_MS, cancel);
    const method = type === "file" ? "files.write" : "files.untar";
    const write = { ...destination, grant, ...(type === "file" ? { size: length } : {}) };
    return this.#ask(to, method, write, WRITE_ANSWER_MS, cancel);
  }

  #open(giver: Side, taker: Side, sessions: readonly string[], size: number | null = null) {
    const maxBytes = giver === "client" ? maxBodyBytes(this.#env) : Number.MAX_SAFE_INTEGER;
    const whose = { tenant: this.#tenant, key: this.#key };
    return openTransfer(this.#env, { ...whose, giver, taker, sessions, size, maxBytes });
  }

  async #ask<M extends SessionMethod>(
    session: string,
    method: M,
    params: HostParams<M>,
    timeoutMs: number,
    onRefusal: () => Promise<void>,
  ): Promise<HostResult<M>> {
    const answer = await sessionObject(this.#env, this.#tenant, session)
      .ask(method, params, timeoutMs, this.#cause)
      .catch(async (error) => {
        await onRefusal();
        throw error;
      });
    if ("failure" in answer) await onRefusal();
    return unwrap(answer);
  }
}

export function tooLarge(most: number): SandbarError {
  return new SandbarError("PAYLOAD_TOO_LARGE", `A request's body may have ${most} bytes`);
}

async function bodyOf(bytes: Promise<Response>): Promise<ReadableStream> {
  const response = await bytes;
  if (response.status !== 200 || !response.body)
    throw new SandbarError("TRANSFER_FAILED", "The host did not bring the bytes");
  return response.body;
}
