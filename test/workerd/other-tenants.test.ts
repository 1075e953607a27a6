/**
 * Every operation of the OpenAPI document that names something by its id, called by a tenant with ids of another one,
 * answers exactly as for ids that never were. What is added to the API is in the document, and so in this test.
 */
import { newId, type Problem } from "@sandbar/shared";
import { beforeAll, expect, it } from "vitest";
import { bindings, Client } from "./client.ts";
import { ORIGIN, onlyHost, worker } from "./fake-daemon.ts";

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  minimum?: number;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
}
interface Operation {
  parameters?: { in: string; name: string; required?: boolean; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  security?: unknown[];
}
type Methods = Record<string, Operation>;

/** Bodies that their schema alone does not tell. */
const BODIES: Record<string, unknown> = {
  "post /v1/sessions/{id}/processes": { command: "true" },
  "post /v1/sessions/{id}/processes/{pid}/signal": { signal: "SIGTERM" },
};
/** What belongs to no tenant: operators see all of it, or nobody needs a key. */
const NOT_A_TENANTS = /^\/(v1\/(hosts|dataset-sources|policies|keys)|agent|console|artifacts)\//;
/** Names are a tenant's own: this makes one's own, whatever others have. */
const MAKES_ONES_OWN = "put /v1/secrets/{name}";

let alice: Client;
let bob: Client;
let operations: [string, Operation][];
let theirs: Record<string, string>;
let missing: Record<string, string>;

beforeAll(async () => {
  await onlyHost();
  alice = await Client.of("other-alice");
  bob = await Client.of("other-bob");
  const document = await (await worker.fetch(`${ORIGIN}/openapi.json`)).json<{
    paths: Record<string, Methods>;
  }>();
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method} ${path}`,
      operation,
    ]),
  );
  const session = await alice.session();
  const { body: execution } = await alice.execute(session.id, "secret");
  const volume = await alice.call<{ name: string }>("POST", "/v1/volumes", { name: "secrets", size_mb: 16 });
  expect(volume.status).toBeLessThan(300);
  const snapshot = { id: newId("snp") };
  await bindings.DB.prepare(
    `INSERT INTO snapshots (id, tenant, session_id, state, digest, summary, created_at, expires_at)
     VALUES (?, 'other-alice', ?, 'ready', ?, ?, ?, ?)`,
  )
    .bind(
      snapshot.id,
      session.id,
      "0".repeat(64),
      JSON.stringify({
        runtime: "python",
        engine: "container",
        image: null,
        size: 0,
        files_bytes: 0,
        contexts: [],
      }),
      new Date().toISOString(),
      new Date(Date.now() + 3600_000).toISOString(),
    )
    .run();
  const others = {
    cid: "python",
    pid: `prc_${"0".repeat(26)}`,
    dataset: "d",
    port: "8000",
    path: "x",
    tid: `tok_${"0".repeat(26)}`,
  };
  theirs = {
    ...others,
    session: session.id,
    eid: execution.id,
    name: "secrets",
    artifact: `art_${"0".repeat(26)}`,
    snapshot: snapshot.id,
  };
  missing = {
    ...others,
    session: `ses_${"0".repeat(25)}z`,
    eid: `exe_${"0".repeat(25)}z`,
    name: "never-was",
    artifact: `art_${"0".repeat(25)}z`,
    snapshot: `snp_${"0".repeat(25)}z`,
  };
});

function sample(schema: Schema | undefined, depth = 0): unknown {
  if (!schema || depth > 8) return "x";
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0] ?? schema.allOf?.[0];
  if (choice) return sample(choice, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object" || schema.properties)
    return Object.fromEntries(
      (schema.required ?? []).map((name) => [name, sample(schema.properties?.[name], depth + 1)]),
    );
  if (type === "array")
    return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items, depth + 1));
  if (type === "integer" || type === "number") return Math.max(1, schema.minimum ?? 1);
  return type === "boolean" ? true : "x";
}

const NAMED_BY_ID: Record<string, string> = { artifacts: "artifact", snapshots: "snapshot" };
const area = (path: string) => path.split("/")[2];
const named = (path: string, ids: Record<string, string>) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = name === "id" ? ids[NAMED_BY_ID[area(path)!] ?? "session"] : ids[name];
    if (value === undefined) throw new Error(`this test has no ${name} for ${path}`);
    return value;
  });

async function ask(client: Client, [name, operation]: [string, Operation], ids: Record<string, string>) {
  const [method, path] = name.split(" ") as [string, string];
  const query = new URLSearchParams(
    (operation.parameters ?? [])
      .filter((parameter) => parameter.in === "query" && parameter.required)
      .map((parameter): [string, string] => [parameter.name, String(sample(parameter.schema))]),
  );
  if (path.includes("/files")) query.set("path", "x");
  const types = Object.keys(operation.requestBody?.content ?? {});
  const headers: Record<string, string> = path.endsWith("/terminal") ? { Upgrade: "websocket" } : {};
  const init: RequestInit & { json?: unknown } = { method: method.toUpperCase(), headers };
  if (types.includes("application/json"))
    init.json = BODIES[name] ?? sample(operation.requestBody!.content["application/json"]!.schema);
  else if (types[0]) {
    init.body = "x";
    headers["Content-Type"] = types[0];
  }
  const answer = await client.fetch(`${named(path, ids)}?${query}`, init);
  const text = await answer.text();
  return { status: answer.status, text };
}

/** A detail may repeat the id that was asked for. */
function told(
  text: string,
  { session, eid, name, artifact, snapshot }: Record<string, string>,
): Partial<Problem> {
  const { request_id: _, ...rest } = JSON.parse(text) as Problem;
  const plain = [session, eid, name, artifact, snapshot].reduce(
    (all, id) => all!.replaceAll(id!, "…"),
    rest.detail,
  );
  return { ...rest, detail: plain! };
}

it("another tenant's things look exactly like missing ones, in every operation there is", async () => {
  const asked = operations.filter(([name]) => {
    const path = name.split(" ")[1]!;
    return path.includes("{") && !NOT_A_TENANTS.test(path) && name !== MAKES_ONES_OWN;
  });
  expect(asked.length).toBeGreaterThan(40);
  const wrong: string[] = [];
  for (const operation of asked) {
    const foreign = await ask(bob, operation, theirs);
    const none = await ask(bob, operation, missing);
    const problem = foreign.status === 404 ? told(foreign.text, theirs) : null;
    if (problem === null) wrong.push(`${operation[0]}: ${foreign.status} ${foreign.text.slice(0, 300)}`);
    else expect(problem, operation[0]).toEqual(told(none.text, missing));
  }
  expect(wrong).toEqual([]);
  // And nothing of it was touched.
  expect((await alice.call<{ status: string }>("GET", `/v1/sessions/${theirs.session}`)).body.status).toBe(
    "ready",
  );
  expect((await alice.call("GET", "/v1/volumes/secrets")).status).toBe(200);
  expect((await alice.call("GET", `/v1/snapshots/${theirs.snapshot}`)).status).toBe(200);
});

it("every operation with a key refuses who has none", async () => {
  for (const [name, { security }] of operations) {
    if (!security?.length) continue;
    const [method, path] = name.split(" ") as [string, string];
    const url = `${ORIGIN}${path.replace(/\{\w+\}/g, "x")}`;
    expect((await worker.fetch(url, { method: method.toUpperCase() })).status, name).toBe(401);
  }
});
