/** @module `/agent`: where daemons join and connect. */

import { createRoute } from "@hono/zod-openapi";
import { CLOSE, idSchema, JoinAnswerSchema, JoinRequestSchema, SandbarError } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { clientAddress } from "../client-address.ts";
import { ADDRESS_HEADER } from "../host/host-audit.ts";
import { type App, body, json, refused } from "../openapi.ts";
import { fleetObject } from "../rpc.ts";
import { GRANT, transferObject } from "../transfer/transfers.ts";
import { tunnelObject } from "../tunnel/object.ts";

const HostId = idSchema("hst");

export function agentRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/agent/join",
      tags: ["daemon"],
      summary: "Register a host's public key with a one-time token",
      request: { body: body(JoinRequestSchema) },
      responses: { 201: json(JoinAnswerSchema, "The host's id"), ...refused },
    }),
    async (c) => {
      const { token, name, public_key } = c.req.valid("json");
      const host_id = unwrap(await fleetObject(c.env).join(token, name, public_key.x));
      c.set("audit", { target: host_id, detail: name });
      return c.json({ host_id }, 201);
    },
  );

  // A daemon brings or fetches a transfer's bytes; the grant is all it needs.
  app.on(["GET", "PUT"], "/agent/transfers/:grant", (c) => {
    const grant = c.req.param("grant");
    if (!GRANT.test(grant)) throw new SandbarError("NOT_FOUND", "No such transfer");
    return transferObject(c.env, grant).fetch(new Request(`http://agent/${grant}`, c.req.raw));
  });

  // A daemon's end of a tunnel, and its word that the tunnel is in use.
  app.on(["GET", "PUT"], "/agent/tunnels/:grant", (c) => {
    const grant = c.req.param("grant");
    if (!GRANT.test(grant)) throw new SandbarError("NOT_FOUND", "No such tunnel");
    return tunnelObject(c.env, grant).fetch(new Request(`http://agent/${grant}`, c.req.raw));
  });

  app.get("/agent/link/:host_id", async (c) => {
    const host = c.req.param("host_id");
    if (!HostId.safeParse(host).success) throw new SandbarError("NOT_FOUND", "No such host");
    if (c.req.header("Upgrade")?.toLowerCase() !== "websocket")
      throw new SandbarError("VALIDATION_FAILED", "This path takes WebSocket connections only");
    // Anybody can make up an id, and an object that was only asked leaves a file behind on one machine.
    if ((await fleetObject(c.env).publicKey(host)) === null) return notRegistered();
    const request = new Request(c.req.raw);
    request.headers.set(ADDRESS_HEADER, clientAddress(c.env, c.req.raw) ?? "");
    return c.env.HOSTS.getByName(host).fetch(request);
  });
}

/** A daemon reads close codes, not refusals. */
function notRegistered(): Response {
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  server.close(CLOSE.removed, "this host is not registered");
  return new Response(null, { status: 101, webSocket: client });
}
