/** @module Named volumes of a tenant, and where a session may mount them. */
import { z } from "zod";

/** Of one that asks for no size; a host that allows less gives less. */
export const VOLUME_MB = 10_240;

export const VolumeNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be lower-case letters, digits, - and _");

/** Folders whose content the sandbox's own programs rely on. */
const TAKEN =
  /^\/(session|run|proc|sys|dev|tmp|data|etc|usr|bin|sbin|lib|lib32|lib64|boot|node_modules|opt\/sandbar|opt\/venv)(\/|$)|^\/opt$/;

export const VolumePathSchema = z
  .string()
  .max(255)
  .regex(/^(\/[A-Za-z0-9_.-]+)+$/, "must be an absolute path of letters, digits, _, . and -")
  .refine(
    (path) => !path.split("/").some((part) => part === "." || part === ".."),
    "must not contain . or ..",
  )
  .refine(
    (path) => !TAKEN.test(path),
    "is a folder that the sandbox itself needs; choose one like /mnt/data",
  );

export const VolumeMountSchema = z.object({ name: VolumeNameSchema, path: VolumePathSchema });

export const VolumeMountsSchema = z
  .array(VolumeMountSchema)
  .max(8)
  .refine(
    (mounts) =>
      mounts.every((a, i) => mounts.every((b, j) => i === j || !`${a.path}/`.startsWith(`${b.path}/`))),
    "paths must not lie inside each other",
  )
  .refine((mounts) => new Set(mounts.map(({ name }) => name)).size === mounts.length, "names must differ");

export const CreateVolumeSchema = z.strictObject({
  name: VolumeNameSchema,
  size_mb: z.number().int().min(4).max(1_048_576).optional(),
});

export const VolumeSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Null until a session has used it. */
  host_id: z.string().nullable(),
  /** What it may hold; null for the host's default. */
  size_mb: z.number().int().nullable(),
  /** Bytes in use; null when its host cannot be asked. */
  size: z.number().int().nullable(),
  created_at: z.string(),
});
export type Volume = z.infer<typeof VolumeSchema>;
