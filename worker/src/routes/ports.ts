/** @module `/v1/sessions/:id/ports/:port/*`: servers inside a session. */
import { createRoute, z } from "@hono/zod-openapi";
import { ListeningPortSchema, newId, type PortAnswer, type PortRequest, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { maxBodyBytes } from "../artifacts/settings.ts";
import { type App, json, listOf, refused, secured } from "../openapi.ts";
import { within } from "../read-within.ts";
import type { Side } from "../transfer/joint.ts";
import { type OpenTransfer, openTransfer } from "../transfer/transfers.ts";
import { isUpgrade, joinTunnel, offeredProtocols, upgraded } from "../tunnel/client-socket.ts";
import { headersForClient, headersForServer } from "../tunnel/port-headers.ts";
import { ask } from "./processes.ts";
import { bodySize } from "./request.ts";
import { SessionParams } from "./sessions.ts";

/** Below which path a server is reached, and which headers pass. */
export interface Mount {
  readonly path: RegExp;
  readonly prefix: string;
  readonly toServer: (given: Headers, port: number, prefix: string) => [string, string][];
  readonly toClient: (given: [string, string][], port: number, prefix: string) => Headers;
}

const MOUNT = /^\/v1\/sessions\/[^/]+\/ports\/[^/]+/;
/** How long a server may think before its answer's head. */
const ANSWER_MS = 120_000;
const LATE_BODY_MS = 10_000;

export function portRoutes(app: App): void {
  const handle = (c: Context<AppEnv>) => {
    const [id, port] = [c.req.param("id")!, portOf(c.req.param("port")!)];
    const prefix = `/v1/sessions/${id}/ports/${port}`;
    return reachPort(c, id, port, {
      path: MOUNT,
      prefix,
      toServer: headersForServer,
      toClient: headersForClient,
    });
  };
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/ports",
      tags: ["processes"],
      summary: "List the ports on which something listens",
      description:
        "TCP, in the order of their numbers, each with the process that has it open, where that can be seen.",
      security: secured,
      request: { params: SessionParams },
      responses: { 200: json(listOf(ListeningPortSchema), "The first 200"), ...refused },
    }),
    async (c) => {
      const { ports } = await ask(c, c.req.valid("param").id, "ports.list", {});
      return c.json({ data: ports, next_cursor: null }, 200);
    },
  );
  app.all("/v1/sessions/:id/ports/:port", handle);
  app.all("/v1/sessions/:id/ports/:port/*", handle);
  app.openAPIRegistry.registerPath({
    method: "get",
    path: "/v1/sessions/{id}/ports/{port}/{path}",
    tags: ["processes"],
    summary: "Reach a server inside the session",
    description:
      "Any method, and WebSockets, to 127.0.0.1 (or ::1) and this port in the session; bodies are streamed. The server gets neither " +
      "`Authorization` nor cookies; `X-Forwarded-Prefix` says where it is mounted. Answers lose `Set-Cookie` and gain " +
      "`Content-Security-Policy: sandbox allow-scripts allow-forms`: pages run in an origin of their own. Redirects within the " +
      "server stay below this path. Nothing listens there: 502 `PORT_CLOSED`. `POST …/preview` without more path makes a preview.",
    security: secured,
    request: { params: SessionParams.extend({ port: z.string(), path: z.string() }) },
    responses: { 200: { description: "What the server answers" }, ...refused },
  });
}

export async function reachPort(
  c: Context<AppEnv>,
  id: string,
  port: number,
  mount: Mount,
): Promise<Response> {
  const url = new URL(c.req.url);
  const path = (url.pathname.replace(mount.path, "") || "/") + url.search;
  const answer = await openBody(c, id, "agent", "client", null);
  const transfers: OpenTransfer[] = [answer];
  const taken = answer.fetch();
  const request: PortRequest = {
    port,
    method: c.req.method,
    path,
    headers: mount.toServer(c.req.raw.headers, port, mount.prefix),
    response: answer.grant,
    body: null,
    socket: null,
    protocols: offeredProtocols(c),
  };
  const send = () => ask(c, id, "ports.request", { ...request, once: newId("req") }, ANSWER_MS);
  try {
    let head: PortAnswer | null = null;
    let uploaded: Promise<unknown> = Promise.resolve();
    if (isUpgrade(c)) {
      const joined = await joinTunnel(c, id, async (grant) => {
        request.socket = grant;
        head = await send();
        return "upgraded" in head;
      });
      if (joined) {
        await answer.cancel();
        return upgraded(joined.socket, joined.protocol);
      }
    } else {
      if (c.req.raw.body) {
        const sent = await openBody(c, id, "client", "agent", bodySize(c));
        transfers.push(sent);
        uploaded = sent.fetch({ method: "PUT", body: c.req.raw.body }).catch(() => {});
        request.body = sent.grant;
      }
      head = await send();
    }
    if ("has_body" in head! && !head.has_body) await answer.cancel();
    // A server may refuse a body before it has come; many a client that is cut while it writes never reads why.
    if ("status" in head! && head.status >= 400) await within(uploaded, LATE_BODY_MS);
    return await answered(head!, taken, port, mount);
  } catch (error) {
    await Promise.all(transfers.map((transfer) => transfer.cancel().catch(() => {})));
    throw error;
  }
}

async function answered(
  head: PortAnswer,
  taken: Promise<Response>,
  port: number,
  { toClient, prefix }: Mount,
): Promise<Response> {
  if ("upgraded" in head) throw new SandbarError("HOST_ERROR", "The host upgraded what was not asked for");
  const { status, has_body } = head;
  const headers = toClient(head.headers, port, prefix);
  if (!has_body) return new Response(null, { status, headers });
  const { body, status: took } = await taken;
  if (took !== 200) throw new SandbarError("TRANSFER_FAILED", "The host did not bring the answer");
  // What the server has encoded stays as it is.
  return new Response(body, {
    status,
    headers,
    encodeBody: headers.has("content-encoding") ? "manual" : "automatic",
  });
}

function openBody(c: Context<AppEnv>, session: string, giver: Side, taker: Side, size: number | null) {
  const { tenant, credential: key } = c.get("caller");
  const maxBytes = giver === "client" ? maxBodyBytes(c.env) : Number.MAX_SAFE_INTEGER;
  const plan = { giver, taker, tenant, key, sessions: [session], size, maxBytes, unusedMs: ANSWER_MS };
  return openTransfer(c.env, plan);
}

export function portOf(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535)
    throw new SandbarError("VALIDATION_FAILED", "The port must be a number from 1 to 65535");
  return port;
}
