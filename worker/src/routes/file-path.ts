/** @module How a request names a path: as text, or as bytes in base64 for a name that is not UTF-8. */
import { z } from "@hono/zod-openapi";
import { SandbarError } from "@sandbar/shared";

export const PATH_LIMIT = 4096;

export const PathQuery = z.object({
  path: z.string().max(PATH_LIMIT).optional().openapi({ description: "Relative paths start at /session" }),
  path_b64: z
    .string()
    .max(6000)
    .optional()
    .openapi({ description: "Instead of path: the name's bytes in base64" }),
});
export type PathParams = { path: string } | { path_b64: string };

/** What the guest calls a path; whatever else is wrong with it, the guest says. */
export function pathParams(given: { path?: string; path_b64?: string }, fallback?: string): PathParams {
  if (given.path_b64 !== undefined) return { path_b64: given.path_b64 };
  const path = given.path ?? fallback;
  if (path === undefined || path === "" || path.includes("\0"))
    throw new SandbarError("PATH_INVALID", "path is missing, empty or contains NUL");
  return { path };
}
