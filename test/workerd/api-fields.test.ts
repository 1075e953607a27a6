import { describe, expect, it } from "vitest";
import { hasParts } from "../../worker/src/described-fields.ts";
import { ORIGIN, worker } from "./fake-daemon.ts";

interface Schema {
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  example?: unknown;
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
type Content = Record<string, { schema?: Schema }>;
interface Operation {
  parameters?: { name: string; description?: string; schema: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}
interface Api {
  servers: { url: string }[];
  tags: { name: string }[];
  components: { schemas: Record<string, Schema> };
  paths: Record<string, Record<string, Operation>>;
}

const api = async () => (await worker.fetch(`${ORIGIN}/openapi.json`)).json<Api>();

/** Every field of a schema, with the way to it. */
function* fieldsOf(schema: Schema | undefined, way: string): Generator<[string, Schema]> {
  if (!schema) return;
  for (const [name, value] of Object.entries(schema.properties ?? {})) {
    yield [`${way}.${name}`, value];
    yield* fieldsOf(value, `${way}.${name}`);
  }
  yield* fieldsOf(schema.items, `${way}[]`);
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    yield* fieldsOf(part, way);
}

function* allFields({ components, paths }: Api): Generator<[string, Schema]> {
  for (const [name, schema] of Object.entries(components.schemas)) yield* fieldsOf(schema, name);
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries(methods)) {
      const way = `${method} ${path}`;
      for (const { name, description, schema } of parameters)
        yield [`${way} ?${name}`, { ...schema, ...(description ? { description } : {}) }];
      for (const body of [requestBody, ...Object.values(responses)])
        for (const { schema } of Object.values(body?.content ?? {})) yield* fieldsOf(schema, way);
    }
}

function fits(value: unknown, schema: Schema): boolean {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.some((option) => fits(value, option));
  if (schema.enum) return schema.enum.includes(value);
  if (schema.const !== undefined) return schema.const === value;
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const allowed = schema.type === undefined ? [type] : [schema.type].flat();
  if (!allowed.includes(type) && !(allowed.includes("integer") && Number.isInteger(value))) return false;
  if (typeof value === "string")
    return (
      value.length <= (schema.maxLength ?? Infinity) &&
      (!schema.pattern || new RegExp(schema.pattern).test(value))
    );
  if (typeof value === "number")
    return value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity);
  if (Array.isArray(value)) return value.every((item) => fits(item, schema.items ?? {}));
  const each = schema.additionalProperties;
  return typeof each !== "object" || Object.values(value as object).every((item) => fits(item, each));
}

describe("the OpenAPI document", () => {
  it("describes every field, each with an example that its schema allows", async () => {
    const lacking: string[] = [];
    for (const [way, schema] of allFields(await api())) {
      if (!schema.description) lacking.push(`${way} has no description: shared/src/fields/`);
      if (hasParts(schema)) continue;
      const examples = schema.examples ?? (schema.example === undefined ? [] : [schema.example]);
      if (examples.length === 0) lacking.push(`${way} has no example`);
      for (const example of examples)
        if (!fits(example, schema)) lacking.push(`${way}: ${JSON.stringify(example)} is not allowed`);
    }
    expect(lacking).toEqual([]);
  });

  it("says what a session's times are unless it asks for others", async () => {
    const { paths } = await api();
    const fields = paths["/v1/sessions"]!.post!.requestBody!.content["application/json"]!.schema!.properties!;
    expect(fields.idle_ttl_s?.description).toContain("30 minutes");
    expect(fields.max_lifetime_s?.description).toContain("2 hours");
  });

  it("opens with sessions, names every part, and has the host that was asked", async () => {
    const { servers, tags, paths } = await api();
    expect(servers).toEqual([{ url: ORIGIN }]);
    expect(tags[0]?.name).toBe("sessions");
    const used = Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) => (operation as { tags?: string[] }).tags ?? []),
    );
    expect(new Set(used)).toEqual(new Set(tags.map(({ name }) => name)));
  });
});
