/** HTTP calls to the Worker under test, with keys of its own making. */
import { env } from "cloudflare:workers";
import type { Execution, Problem, Scope, Session } from "@sandbar/shared";
import { createKey } from "../../worker/src/db/keys.ts";
import type { Env } from "../../worker/src/env.ts";
import { ORIGIN, worker } from "./fake-daemon.ts";

export const bindings = env as unknown as Env;

/** Either what was asked for or a problem; tests look at the fields of the one they expect. */
type OrProblem<T> = T & Pick<Problem, "code" | "detail" | "retryable">;

export class Client {
  readonly secret: string;

  constructor(secret: string) {
    this.secret = secret;
  }

  static async of(tenant: string, scopes: Scope[] = ["agent"]): Promise<Client> {
    const { secret } = await createKey(bindings.DB, { name: "test", tenant, scopes });
    return new Client(secret);
  }

  fetch(path: string, init: RequestInit & { json?: unknown } = {}): Promise<Response> {
    const headers = new Headers(init.headers as HeadersInit);
    headers.set("Authorization", `Bearer ${this.secret}`);
    if (init.json !== undefined) headers.set("Content-Type", "application/json");
    return worker.fetch(`${ORIGIN}${path}`, {
      ...init,
      headers,
      ...(init.json === undefined ? {} : { body: JSON.stringify(init.json) }),
    });
  }

  async call<T>(
    method: string,
    path: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: T; headers: Headers }> {
    const answer = await this.fetch(path, { method, json, headers });
    const text = await answer.text();
    return { status: answer.status, body: (text ? JSON.parse(text) : null) as T, headers: answer.headers };
  }

  async session(request: Record<string, unknown> = {}): Promise<Session> {
    const { status, body } = await this.call<OrProblem<Session>>("POST", "/v1/sessions", request);
    if (status >= 300) throw new Error(`create answered ${status} ${body.code}: ${body.detail}`);
    return body;
  }

  execute(
    session: string,
    code: string,
    headers: Record<string, string> = {},
    more: Record<string, unknown> = {},
  ) {
    return this.call<OrProblem<Execution>>(
      "POST",
      `/v1/sessions/${session}/executions`,
      { code, ...more },
      headers,
    );
  }

  submit(session: string, code: string, more: Record<string, unknown> = {}) {
    return this.execute(session, code, { Prefer: "respond-async" }, more);
  }
}

export interface SseMessage {
  readonly id: number;
  /** The id as it came. */
  readonly cursor: string;
  readonly event: string;
  readonly data: never;
}

/** The stream's events, to its end or until `enough`. */
export async function readSse(
  response: Response,
  enough: (messages: SseMessage[]) => boolean = () => false,
): Promise<SseMessage[]> {
  const messages: SseMessage[] = [];
  let buffer = "";
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return messages;
    buffer += value;
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop()!;
    for (const block of blocks) {
      const fields = new Map(
        block.split("\n").map((line) => [line.split(": ")[0]!, line.slice(line.indexOf(": ") + 2)]),
      );
      if (!fields.has("event")) continue;
      messages.push({
        id: Number(fields.get("id")),
        cursor: fields.get("id")!,
        event: fields.get("event")!,
        data: JSON.parse(fields.get("data")!) as never,
      });
    }
    if (enough(messages)) {
      await reader.cancel();
      return messages;
    }
  }
}
