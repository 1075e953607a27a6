/** @module A client's WebSocket that ends in a session. */
import { SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { newSecret } from "../tokens.ts";
import { tunnelObject } from "./object.ts";

const BEARER = "bearer.";

export function isUpgrade(c: Context<AppEnv>): boolean {
  return c.req.header("Upgrade")?.toLowerCase() === "websocket";
}

/** What the client offers to speak. A browser hides the API key among them, having no header for it. */
export function offeredProtocols(c: Context<AppEnv>): string[] {
  const offered = (c.req.header("Sec-WebSocket-Protocol") ?? "").split(",").map((name) => name.trim());
  return offered.filter((name) => name !== "" && !name.startsWith(BEARER)).slice(0, 16);
}

/** `invite` asks the daemon to come to the grant; false when it has answered otherwise. */
export async function joinTunnel(
  c: Context<AppEnv>,
  session: string,
  invite: (grant: string) => Promise<boolean>,
): Promise<{ socket: WebSocket; protocol: string } | null> {
  const grant = newSecret("grt_");
  const tunnel = tunnelObject(c.env, grant);
  const { tenant, credential: key } = c.get("caller");
  await tunnel.open(grant, { tenant, session, key });
  const meeting = tunnel.fetch(`http://client/${grant}`, { headers: { Upgrade: "websocket" } });
  meeting.catch(() => {});
  let comes = false;
  try {
    comes = await invite(grant);
  } finally {
    if (!comes) await tunnel.cancel(grant);
  }
  if (!comes) return null;
  await tunnel.expect(grant);
  const { webSocket, headers } = await meeting;
  if (!webSocket) throw new SandbarError("HOST_TIMEOUT", "The host did not open the tunnel");
  return { socket: webSocket, protocol: headers.get("Sec-WebSocket-Protocol") ?? "" };
}

export function upgraded(socket: WebSocket, protocol: string): Response {
  const headers: HeadersInit = protocol ? { "Sec-WebSocket-Protocol": protocol } : {};
  return new Response(null, { status: 101, webSocket: socket, headers });
}
