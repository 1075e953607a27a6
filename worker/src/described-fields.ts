/** @module Puts the note of every field into the OpenAPI document. */
import { noteOf } from "@sandbar/shared/fields";

interface Schema {
  $ref?: string;
  description?: string;
  examples?: unknown[];
  example?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  prefixItems?: Schema[];
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema?: Schema;
}
type Content = Record<string, { schema?: Schema }>;
interface Operation {
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { content?: Content };
  responses?: Record<string, { content?: Content }>;
}
export interface OpenApiDocument {
  components?: { schemas?: Record<string, Schema> };
  paths?: Record<string, Record<string, Operation>>;
}

export function describeFields<T extends OpenApiDocument>(api: T): T {
  for (const [name, schema] of Object.entries(api.components?.schemas ?? {}))
    describe(schema, [name], new Set());
  for (const operation of Object.values(api.paths ?? {}).flatMap((methods) => Object.values(methods))) {
    const tag = operation.tags?.[0] ?? "";
    for (const parameter of operation.parameters ?? []) describeParameter(parameter, tag);
    const bodies = [operation.requestBody, ...Object.values(operation.responses ?? {})];
    for (const { schema } of bodies.flatMap((body) => Object.values(body?.content ?? {})))
      describe(schema, [tag], new Set());
  }
  return api;
}

function describeParameter(parameter: Parameter, tag: string): void {
  const { in: place, name, schema = {} } = parameter;
  const note = noteOf([`${tag}.${place}`, place, tag], name);
  if (!note) return;
  parameter.description ??= schema.description ?? note[0];
  // A text that stands in the schema as well would be shown twice.
  delete schema.description;
  giveExample(schema, note[1]);
  parameter.schema = schema;
}

/** `owners`: what the schema is part of, the nearest first. */
function describe(schema: Schema | undefined, owners: readonly string[], seen: Set<Schema>): void {
  if (!schema || seen.has(schema)) return;
  seen.add(schema);
  for (const [field, value] of Object.entries(schema.properties ?? {})) {
    const note = noteOf(owners, field);
    if (note) {
      value.description ??= note[0];
      if (!hasParts(value)) giveExample(value, note[1]);
    }
    // A list's rows belong to what the list is of.
    describe(value, field === "data" ? owners : [field, ...owners], seen);
  }
  describe(schema.items, owners, seen);
  if (typeof schema.additionalProperties === "object") describe(schema.additionalProperties, owners, seen);
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    describe(part, owners, seen);
}

function giveExample(schema: Schema, example: unknown): void {
  if (example !== undefined && schema.examples === undefined && schema.example === undefined)
    schema.examples = [example];
}

/** Whether it is made of fields that have examples of their own. */
export function hasParts({ $ref, properties, items, anyOf, oneOf, allOf }: Schema): boolean {
  if ($ref !== undefined || properties !== undefined) return true;
  return [items, ...(anyOf ?? []), ...(oneOf ?? []), ...(allOf ?? [])].some(
    (part) => part !== undefined && hasParts(part),
  );
}
