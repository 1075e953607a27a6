/** @module Where datasets are fetched from: upstreams that an operator registers. */
import { z } from "zod";
import { TenantSchema } from "./api-key.ts";

const HEADER_LIMIT = 32;
/** The request's own; a source may not speak for them. */
const RESERVED_HEADERS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "accept-encoding",
  "range",
]);

const originSchema = z
  .string()
  .max(300)
  .refine((text) => URL.canParse(text) && new URL(text).origin === text && /^https?:/.test(text), {
    message: "must be an origin such as https://data.example.com",
  });

export const CreateDatasetSourceSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be letters, digits, '.', '_' and '-'"),
  /** With `{id}`, and `{version}` when the source keeps several, outside of the origin. */
  url_template: z.string().max(2000).refine(isTemplate, {
    message:
      "must be an http or https URL with {id} in its path or query, and without user, password or fragment",
  }),
  /** Secret: sent to the source, never shown again, never in a sandbox. */
  headers: z
    .record(
      z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, "must be a header's name"),
      z.string().regex(/^[\x20-\x7e\t]{0,8000}$/, "must be printable ASCII"),
    )
    .refine((headers) => Object.keys(headers).length <= HEADER_LIMIT, `at most ${HEADER_LIMIT} headers`)
    .refine((headers) => Object.keys(headers).every((name) => !RESERVED_HEADERS.has(name.toLowerCase())), {
      message: `none of ${[...RESERVED_HEADERS].join(", ")}`,
    })
    .default({}),
  /** Other origins that redirects may lead to; the secret headers are not sent there. */
  redirect_origins: z.array(originSchema).max(16).default([]),
  /** Whether it may be at a private, link-local or loopback address. */
  allow_private: z.boolean().default(false),
  max_bytes: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  timeout_s: z.number().int().min(1).max(3600).default(300),
  /** Only this tenant may use it; without it all may. */
  tenant: TenantSchema.optional(),
});
export type CreateDatasetSource = z.infer<typeof CreateDatasetSourceSchema>;

export const DatasetSourceSchema = z.object({
  id: z.string(),
  name: z.string(),
  url_template: z.string(),
  header_names: z.array(z.string()),
  redirect_origins: z.array(z.string()),
  allow_private: z.boolean(),
  max_bytes: z.number().nullable(),
  timeout_s: z.number(),
  tenant: z.string().nullable(),
  created_at: z.string(),
});
export type DatasetSource = z.infer<typeof DatasetSourceSchema>;

/** Every value is percent-encoded, so none of them can change the URL's shape. */
export function expandTemplate(template: string, values: { id: string; version: string | null }): string {
  return template.replace(/\{(id|version)\}/g, (_, name: "id" | "version") =>
    encodeURIComponent(values[name] ?? ""),
  );
}

function isTemplate(template: string): boolean {
  const [one, other] = ["a", "b"].map((id) => expandTemplate(template, { id, version: id }));
  // Dots of the template's own must not become `..` together with a value's.
  if (/(^|\/)\.{1,2}(\/|\?|$)/.test(template.replace(/\{(id|version)\}/g, ""))) return false;
  if (!template.includes("{id}") || !URL.canParse(one!) || !URL.canParse(other!)) return false;
  const url = new URL(one!);
  const plain = url.username === "" && url.password === "" && url.hash === "" && !template.includes("#");
  return /^https?:$/.test(url.protocol) && plain && url.origin === new URL(other!).origin;
}
