/** @module `/v1/hosts`: the operator's view of the fleet. */
import { createRoute, z } from "@hono/zod-openapi";
import { idSchema, SandbarError } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { type App, HostBody, HostLoadBody, json, listOf, refused, secured } from "../openapi.ts";
import { fleetObject, hostObject, sessionObject } from "../rpc.ts";

const HostParams = z.object({ id: z.string() });
const HostId = idSchema("hst");
const EnrollmentSchema = z.object({ token: z.string(), expires_at: z.string() });

function hostId(id: string): string {
  if (!HostId.safeParse(id).success) throw new SandbarError("NOT_FOUND", "No such host");
  return id;
}

export function hostRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/hosts/enrollments",
      tags: ["hosts"],
      summary: "Make a one-time token by which a host joins",
      security: secured,
      responses: { 201: json(EnrollmentSchema, "The token, shown once, valid for 15 minutes"), ...refused },
    }),
    async (c) => c.json(await fleetObject(c.env).enroll(), 201),
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/hosts",
      tags: ["hosts"],
      summary: "List hosts",
      security: secured,
      responses: { 200: json(listOf(HostBody), "All hosts"), ...refused },
    }),
    async (c) => c.json({ data: await fleetObject(c.env).hosts(), next_cursor: null }, 200),
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/hosts/{id}",
      tags: ["hosts"],
      summary: "Get a host",
      security: secured,
      request: { params: HostParams },
      responses: { 200: json(HostBody, "The host"), ...refused },
    }),
    async (c) => c.json(unwrap(await fleetObject(c.env).host(hostId(c.req.valid("param").id))), 200),
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/hosts/{id}/load",
      tags: ["hosts"],
      summary: "Ask a host how busy it is",
      description: "Its machine's load, memory and disk, and its warm pool. The host itself answers.",
      security: secured,
      request: { params: HostParams },
      responses: { 200: json(HostLoadBody, "Now"), ...refused },
    }),
    async (c) => {
      const { id } = unwrap(await fleetObject(c.env).host(hostId(c.req.valid("param").id)));
      return c.json(unwrap(await hostObject(c.env, id).call("", "host.load", {})), 200);
    },
  );

  for (const word of ["cordon", "uncordon"] as const)
    app.openapi(
      createRoute({
        method: "post",
        path: `/v1/hosts/{id}/${word}`,
        tags: ["hosts"],
        summary: word === "cordon" ? "Place nothing new on a host" : "Place sessions on a host again",
        security: secured,
        request: { params: HostParams },
        responses: { 200: json(HostBody, "The host"), ...refused },
      }),
      async (c) =>
        c.json(
          unwrap(await fleetObject(c.env).cordon(hostId(c.req.valid("param").id), word === "cordon")),
          200,
        ),
    );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/hosts/{id}/drain",
      tags: ["hosts"],
      summary: "Cordon a host and stop its sessions",
      description: "The host's `drain` says how many are left, until it is uncordoned.",
      security: secured,
      request: { params: HostParams },
      responses: { 202: json(HostBody, "The host; its sessions are being stopped"), ...refused },
    }),
    async (c) => {
      const id = hostId(c.req.valid("param").id);
      const { host, placed } = unwrap(await fleetObject(c.env).drain(id));
      c.executionCtx.waitUntil(
        Promise.allSettled(
          placed.map(({ session, tenant }) => sessionObject(c.env, tenant, session).stop("drained")),
        ),
      );
      return c.json(host, 202);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/hosts/{id}",
      tags: ["hosts"],
      summary: "Remove a host",
      description: "Its sessions are lost, and its daemon is told not to come back.",
      security: secured,
      request: { params: HostParams },
      responses: { 204: { description: "It is removed" }, ...refused },
    }),
    async (c) => {
      const id = hostId(c.req.valid("param").id);
      // First the registry, so that the daemon cannot come back in between.
      await fleetObject(c.env).remove(id);
      await hostObject(c.env, id).remove();
      return c.body(null, 204);
    },
  );
}
