/** @module `/v1/volumes`: named storage of a tenant that outlives sessions. */
import { createRoute, z } from "@hono/zod-openapi";
import { CreateVolumeSchema, SandbarError, VolumeNameSchema, VolumeSchema } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { findPolicy } from "../db/policies.ts";
import {
  beginDelete,
  createVolume,
  endDelete,
  findVolume,
  type KnownVolume,
  listVolumes,
} from "../db/volumes.ts";
import type { Env } from "../env.ts";
import { type App, body, json, listOf, PageQuery, page, refused, secured } from "../openapi.ts";
import { fleetObject, hostObject } from "../rpc.ts";

const VolumeBody = VolumeSchema.clone().openapi("Volume") as typeof VolumeSchema;
/** The id does as well. */
const VolumeParams = z.object({ name: VolumeNameSchema });
const SIZES_TIMEOUT_MS = 3_000;
const REMOVE_TIMEOUT_MS = 60_000;

export function volumeRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/volumes",
      tags: ["volumes"],
      summary: "Make a volume, or find the one that has the name",
      description:
        "The first session that mounts it decides its host. Mounting an unknown name makes it too.",
      security: secured,
      request: { body: body(CreateVolumeSchema) },
      responses: {
        200: json(VolumeBody, "The volume that has this name already"),
        201: json(VolumeBody, "A new volume"),
        ...refused,
      },
    }),
    async (c) => {
      const { name, size_mb } = c.req.valid("json");
      const { tenant } = c.get("caller");
      const { effective } = await findPolicy(c.env.DB, tenant);
      if (!effective.allow.volumes)
        throw new SandbarError("FORBIDDEN_BY_POLICY", "This tenant may not have volumes");
      const made = await createVolume(c.env.DB, tenant, name, size_mb ?? null, effective.shares);
      const { volume, created } = unwrap(made);
      if (!created && size_mb !== undefined && volume.size_mb !== size_mb)
        throw new SandbarError("VOLUME_EXISTS", `The volume ${name} has another size`);
      c.set("audit", { target: name });
      return c.json(
        { ...volume, size: created ? 0 : await sizeOf(c.env, tenant, volume) },
        created ? 201 : 200,
      );
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/volumes",
      tags: ["volumes"],
      summary: "List volumes",
      security: secured,
      request: { query: PageQuery },
      responses: { 200: json(listOf(VolumeBody), "A page of volumes"), ...refused },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid("query");
      const { tenant } = c.get("caller");
      const found = page(await listVolumes(c.env.DB, tenant, cursor ?? null, limit + 1), limit);
      const sizes = await sizesOn(c.env, tenant, found.data);
      const data = found.data.map((volume) => ({ ...volume, size: sizes(volume) }));
      return c.json({ data, next_cursor: found.next_cursor }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/volumes/{name}",
      tags: ["volumes"],
      summary: "Get a volume",
      security: secured,
      request: { params: VolumeParams },
      responses: { 200: json(VolumeBody, "The volume"), ...refused },
    }),
    async (c) => {
      const { tenant } = c.get("caller");
      const volume = await existing(c.env, tenant, c.req.valid("param").name);
      return c.json({ ...volume, size: await sizeOf(c.env, tenant, volume) }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/volumes/{name}",
      tags: ["volumes"],
      summary: "Delete a volume and what is in it",
      security: secured,
      request: { params: VolumeParams },
      responses: { 204: { description: "It is gone" }, ...refused },
    }),
    async (c) => {
      const { tenant } = c.get("caller");
      const volume = await existing(c.env, tenant, c.req.valid("param").name);
      const { name } = volume;
      if (!(await beginDelete(c.env.DB, tenant, name)))
        throw new SandbarError("VOLUME_IN_USE", `A session has the volume ${name}`);
      const failure = await removeFromHost(c.env, tenant, volume);
      await endDelete(c.env.DB, tenant, name, failure === null);
      if (failure) throw failure;
      return c.body(null, 204);
    },
  );
}

async function existing(env: Env, tenant: string, reference: string): Promise<KnownVolume> {
  const volume = await findVolume(env.DB, tenant, reference);
  if (!volume) throw new SandbarError("NOT_FOUND", "No such volume");
  return volume;
}

async function removeFromHost(env: Env, tenant: string, volume: KnownVolume): Promise<SandbarError | null> {
  if (volume.host_id === null) return null;
  const host = await fleetObject(env).host(volume.host_id);
  // A host that was removed took its volumes with it.
  if ("failure" in host && host.failure.code === "NOT_FOUND") return null;
  const params = { tenant, name: volume.name };
  const answer = await hostObject(env, volume.host_id).call("", "volumes.remove", params, REMOVE_TIMEOUT_MS);
  return "failure" in answer
    ? new SandbarError(answer.failure.code, answer.failure.detail, answer.failure)
    : null;
}

async function sizeOf(env: Env, tenant: string, volume: KnownVolume): Promise<number | null> {
  return (await sizesOn(env, tenant, [volume]))(volume);
}

/** Asks each host once; null for a volume whose host does not answer. */
async function sizesOn(
  env: Env,
  tenant: string,
  wanted: readonly KnownVolume[],
): Promise<(volume: KnownVolume) => number | null> {
  const hosts = [...new Set(wanted.map(({ host_id }) => host_id))].filter((id) => id !== null);
  const answers = await Promise.all(
    hosts.map(async (id) => {
      const answer = await hostObject(env, id).call("", "volumes.sizes", { tenant }, SIZES_TIMEOUT_MS);
      return [id, "failure" in answer ? null : answer.value] as const;
    }),
  );
  const byHost = new Map(answers);
  return ({ host_id, name }) => {
    if (host_id === null) return 0;
    const sizes = byHost.get(host_id);
    return sizes ? (sizes[name] ?? 0) : null;
  };
}
