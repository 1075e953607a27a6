/** @module `docs/reference.md`, written from the OpenAPI document that the Worker serves. */
import { wrapped } from "./wrapped.ts";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
type Content = Record<string, { schema?: Schema }>;
interface Operation {
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Lists of this length are the table of error codes. */
const LONGEST_CHOICE = 20;

export function referenceOf(api: OpenApi): string {
  const routes = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const byTag = Map.groupBy(routes, ({ operation }) => operation.tags?.[0] ?? "other");
  const lines = [
    "# HTTP reference",
    "",
    "Written from `/openapi.json` of a running Sandbar by `npm test -- test/docs/examples-docs.test.ts -u`; `/docs` shows the same with a form to try it.",
    "",
    "- Send `Authorization: Bearer <api key>`.",
    "- Times are RFC 3339 in UTC, sizes bytes. A `?` marks what may be left out.",
    "- Lists take `?limit=&cursor=` and answer `{data, next_cursor}`.",
    "- Every refusal is a [Problem](#problem), whose `code` stands in [troubleshooting](troubleshooting.md).",
    "- What is refused without its body (401, 403, 404, 405, 413 by its length) is answered before the body has come.",
    "- Only what is no HTTP request (`CONNECT`, an unknown method such as `get` or `LINK`, a `Content-Length` that is no number) is refused by workerd or Cloudflare itself, as plain text.",
    "",
    `Routes: ${[...byTag.keys()].map((tag) => `[${tag}](#${tag})`).join(" · ")}. Types: ${Object.keys(
      api.components.schemas,
    )
      .map((name) => `[${name}](#${name.toLowerCase()})`)
      .join(" · ")}.`,
  ];
  for (const [tag, members] of byTag) {
    lines.push("", `## ${tag}`);
    for (const { path, method, operation } of members) lines.push("", ...routeLines(method, path, operation));
  }
  for (const [name, schema] of Object.entries(api.components.schemas))
    lines.push("", `## ${name}`, "", "```ts", typeOf(schema, ""), "```");
  return wrapped(`${lines.join("\n")}\n`);
}

function routeLines(method: string, path: string, operation: Operation): string[] {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const lines = [`### \`${method} ${path}\``, "", [summary, description].filter(Boolean).join(". ")];
  const items = parameters
    .filter((parameter) => parameter.in !== "path" || parameter.description)
    .map(({ name, in: place, required, description, schema }) => {
      const about = description ? `: ${description}` : "";
      return `- ${place} \`${name}${required ? "" : "?"}\` ${inline(schema ?? {})}${about}`;
    });
  for (const [mime, { schema }] of Object.entries(requestBody?.content ?? {}))
    items.push(...typed(`body \`${mime}\``, schema));
  for (const [status, { description, content = {} }] of Object.entries(responses)) {
    if (/XX$/.test(status)) continue;
    const [mime, answer] = Object.entries(content)[0] ?? [];
    const kind = mime && mime !== "application/json" ? ` (\`${mime}\`)` : "";
    items.push(
      ...typed(
        `**${status}** ${description}${kind}`,
        mime === "application/json" ? answer?.schema : undefined,
      ),
    );
  }
  return items.length > 0 ? [...lines, "", ...items] : lines;
}

function typed(title: string, schema: Schema | undefined): string[] {
  if (!schema || schema.format === "binary") return [`- ${title}`];
  if (schema.$ref) return [`- ${title}: ${inline(schema)}`];
  return [`- ${title}:`, "  ```ts", `  ${typeOf(schema, "  ")}`, "  ```"];
}

function inline(schema: Schema): string {
  if (schema.$ref) return `[${nameOf(schema.$ref)}](#${nameOf(schema.$ref).toLowerCase()})`;
  return `\`${typeOf(schema, "")}\``;
}

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf("/") + 1);

/** The schema as a TypeScript type. */
function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.type === "null") return "null";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) {
    const codes = schema.enum.length > LONGEST_CHOICE;
    return codes ? "ErrorCode" : schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map((option) => typeOf(option, indent)))].join(" | ");
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(" & ");
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  if (schema.type === "array") {
    const item = typeOf(schema.items ?? {}, indent);
    return /[|&]/.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.properties) {
    const fields = Object.entries(schema.properties).map(
      ([name, field]) =>
        `${indent}  ${name}${schema.required?.includes(name) ? "" : "?"}: ${typeOf(field, `${indent}  `)};`,
    );
    return fields.length > 0 ? `{\n${fields.join("\n")}\n${indent}}` : "{}";
  }
  if (typeof schema.additionalProperties === "object")
    return `Record<string, ${typeOf(schema.additionalProperties, indent)}>`;
  if (schema.type === "integer") return "number";
  return schema.type === "object" ? "Record<string, unknown>" : (schema.type ?? "unknown");
}
