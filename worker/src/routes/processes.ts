/** @module `/v1/sessions/:id/processes`: commands that outlive the request that started them. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  type CreateProcess,
  CreateProcessSchema,
  type GuestProcess,
  type HostParams,
  type HostResult,
  idSchema,
  newId,
  PROCESS_STDIN_LIMIT_BYTES,
  ProcessSignalSchema,
  ProcessStdinSchema,
  readJson,
  SandbarError,
  type SessionMethod,
  TerminalSizeSchema,
} from "@sandbar/shared";
import type { Context } from "hono";
import { unwrap } from "../answer.ts";
import type { AppEnv } from "../app-env.ts";
import { stillGood } from "../auth.ts";
import { bodyIdleMs } from "../env.ts";
import { bodyText, readBody } from "../json-body.ts";
import { type App, body, events, json, listOf, ProcessBody, refused, secured } from "../openapi.ts";
import { validationFailure } from "../problem.ts";
import { processEvents } from "../process/events.ts";
import { toProcess } from "../process/record.ts";
import { hostObject } from "../rpc.ts";
import { canonical } from "../session/spec.ts";
import { refuseBeyond } from "../session/sse.ts";
import { sha256Hex } from "../tokens.ts";
import { callersSession, eventStream, idempotencyKey, lastEventId } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const PATH = "/v1/sessions/{id}/processes";
const ProcessParams = SessionParams.extend({ pid: z.string() });
const ProcessId = idSchema("prc");
const START_LIMIT_CHARS = 512 * 1024;
const OUTPUT_ANSWER_MS = 40_000;
/** A reader is use of the session. */
const TOUCH_MS = 10_000;
const ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export function processRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: PATH,
      tags: ["processes"],
      summary: "Start a process",
      description:
        "A shell `command` or an `argv`, with a terminal if `pty` is given. It runs until it ends, is deleted, or the " +
        "session ends. With an `Idempotency-Key` it is started at most once.",
      security: secured,
      request: {
        params: SessionParams,
        headers: z.object({ "idempotency-key": z.string().optional() }),
        body: body(CreateProcessSchema),
      },
      responses: { 201: json(ProcessBody, "The process, started"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const guest = await startProcess(c, id, c.req.valid("json"));
      return c.json(toProcess(id, guest), 201, { Location: `/v1/sessions/${id}/processes/${guest.process}` });
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: PATH,
      tags: ["processes"],
      summary: "List processes, in the order of their start",
      security: secured,
      request: { params: SessionParams },
      responses: {
        200: json(listOf(ProcessBody), "Those that run, and those that ended and were not deleted"),
        ...refused,
      },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { processes } = await ask(c, id, "processes.list", {});
      return c.json({ data: processes.map((guest) => toProcess(id, guest)), next_cursor: null }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: `${PATH}/{pid}`,
      tags: ["processes"],
      summary: "Get a process",
      security: secured,
      request: { params: ProcessParams },
      responses: { 200: json(ProcessBody, "The process"), ...refused },
    }),
    async (c) => {
      const { id, pid } = c.req.valid("param");
      return c.json(toProcess(id, await getProcess(c, id, pid)), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: `${PATH}/{pid}`,
      tags: ["processes"],
      summary: "End a process and forget it",
      description: "SIGKILL to it and to everything that it started. Its output is gone with it.",
      security: secured,
      request: { params: ProcessParams },
      responses: { 204: { description: "There is no such process any more" }, ...refused },
    }),
    async (c) => {
      const { id, pid } = c.req.valid("param");
      await ask(c, id, "processes.remove", { process: processId(pid) });
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: `${PATH}/{pid}/events`,
      tags: ["processes"],
      summary: "Follow a process's output",
      description:
        "Events `stdout {text}` and `stderr {text}` (a terminal has only `stdout`) from the oldest kept, or after " +
        "`Last-Event-ID` (or `?last_event_id=`); `dropped {count}` when older ones are gone: the last MiB is kept. " +
        "Exactly one `exit {exit_code, signal, oom_killed}`, last.",
      security: secured,
      request: { params: ProcessParams },
      responses: { 200: events("Server-sent events"), ...refused },
    }),
    async (c) => {
      const { id, pid } = c.req.valid("param");
      const process = processId(pid);
      const after = lastEventId(c);
      const session = callersSession(c, id);
      let host = unwrap(await session.hostInUse("processes"));
      const output = (position: number, wait_ms: number) =>
        hostObject(c.env, host).call(
          id,
          "processes.output",
          { process, after: position, wait_ms },
          OUTPUT_ANSWER_MS,
        );
      const alive = async () => {
        const answer = await session.hostInUse("processes");
        if ("value" in answer) host = answer.value;
        return "value" in answer;
      };
      const allowed = () => stillGood(c.env.DB, c.get("caller").credential);
      const first = unwrap(await output(after, 0));
      if (after > first.last_seq) unwrap(refuseBeyond(first.last_seq));
      let touchedAt = Date.now();
      const following = async (position: number, waitMs: number) => {
        if (Date.now() - touchedAt > TOUCH_MS) {
          touchedAt = Date.now();
          await session.touch();
        }
        return output(position, waitMs);
      };
      return eventStream(processEvents({ output: following, alive, allowed }, after, first)) as never;
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: `${PATH}/{pid}/stdin`,
      tags: ["processes"],
      summary: "Write to a process",
      description:
        "JSON `{data | data_b64, eof?}`, or as any other media type the bytes themselves (then `?eof=true` ends the input). " +
        `At most ${PROCESS_STDIN_LIMIT_BYTES} bytes.`,
      security: secured,
      request: {
        params: ProcessParams,
        query: z.object({ eof: z.enum(["true", "false"]).optional() }),
      },
      responses: { 204: { description: "Written, or waiting to be read" }, ...refused },
    }),
    async (c) => {
      const { id, pid } = c.req.valid("param");
      const process = processId(pid);
      const input = await readStdin(c, c.req.valid("query").eof === "true");
      await ask(c, id, "processes.stdin", { process, ...input, once: newId("req") });
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: `${PATH}/{pid}/signal`,
      tags: ["processes"],
      summary: "Send a signal to a process's group",
      description:
        "`SIGKILL` reaches everything that the process started. Of a terminal the foreground job gets it too.",
      security: secured,
      request: { params: ProcessParams, body: body(ProcessSignalSchema) },
      responses: { 204: { description: "Sent, or there was nobody left to get it" }, ...refused },
    }),
    async (c) => {
      const { id, pid } = c.req.valid("param");
      const { signal } = c.req.valid("json");
      await ask(c, id, "processes.signal", { process: processId(pid), signal, once: newId("req") });
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: `${PATH}/{pid}/resize`,
      tags: ["processes"],
      summary: "Change the size of a process's terminal",
      security: secured,
      request: { params: ProcessParams, body: body(TerminalSizeSchema) },
      responses: { 200: json(ProcessBody, "The process"), ...refused },
    }),
    async (c) => {
      const { id, pid } = c.req.valid("param");
      const process = processId(pid);
      const guest = await ask(c, id, "processes.resize", { process, ...c.req.valid("json") });
      return c.json(toProcess(id, guest), 200);
    },
  );
}

export async function startProcess(
  c: Context<AppEnv>,
  session: string,
  request: CreateProcess,
  extra: { linger_s?: number } = {},
): Promise<GuestProcess> {
  const key = idempotencyKey(c);
  const digest = await sha256Hex(canonical(request));
  const process = key === null ? newId("prc") : await idOf(`${session}\n${key}`);
  const params = { process, digest, ...request, ...extra };
  if (JSON.stringify(params).length > START_LIMIT_CHARS)
    throw new SandbarError("PAYLOAD_TOO_LARGE", "The command and its environment are too large");
  return ask(c, session, "processes.start", params);
}

export async function getProcess(c: Context<AppEnv>, session: string, pid: string): Promise<GuestProcess> {
  return ask(c, session, "processes.get", { process: processId(pid) });
}

export async function ask<M extends SessionMethod>(
  c: Context<AppEnv>,
  session: string,
  method: M,
  params: HostParams<M>,
  timeoutMs?: number,
): Promise<HostResult<M>> {
  return unwrap(await callersSession(c, session).ask(method, params, timeoutMs));
}

function processId(pid: string): string {
  if (!ProcessId.safeParse(pid).success) throw new SandbarError("NOT_FOUND", "No such process");
  return pid;
}

/** The same key gives the same id, and the guest starts an id once. */
async function idOf(key: string): Promise<string> {
  const digest = await sha256Hex(key);
  let id = "prc_";
  for (let i = 0; i < 26; i++) id += ID_ALPHABET[Number.parseInt(digest.slice(i * 2, i * 2 + 2), 16) & 31];
  return id;
}

async function readStdin(c: Context<AppEnv>, eof: boolean): Promise<{ data_b64: string; eof: boolean }> {
  const raw = await readBody(c.req.raw, PROCESS_STDIN_LIMIT_BYTES * 3, bodyIdleMs(c.env));
  let bytes = raw;
  if (raw && /^application\/json\b/i.test(c.req.header("Content-Type") ?? "")) {
    const json = readJson(bodyText(raw));
    if (json === undefined) throw new SandbarError("INVALID_JSON");
    const parsed = ProcessStdinSchema.safeParse(json);
    if (!parsed.success) {
      const failure = validationFailure(parsed.error);
      throw new SandbarError(failure.code, failure.detail, failure);
    }
    const { data, data_b64 } = parsed.data;
    bytes = data_b64 === undefined ? new TextEncoder().encode(data ?? "") : fromBase64(data_b64);
    eof ||= parsed.data.eof ?? false;
  }
  if (!bytes || bytes.length > PROCESS_STDIN_LIMIT_BYTES)
    throw new SandbarError("PAYLOAD_TOO_LARGE", `One write may have ${PROCESS_STDIN_LIMIT_BYTES} bytes`);
  return { data_b64: toBase64(bytes), eof };
}

const toBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const fromBase64 = (text: string) => new Uint8Array(Buffer.from(text, "base64"));
