/** @module The MCP tools that keep what a session is, and make others of it. */
import type { McpServer } from "@modelcontextprotocol/server";
import { FORK_LIMIT, OnBusySchema } from "@sandbar/shared";
import { z } from "zod";
import type { Sandbar } from "../client.ts";
import { orRefusal, plainResult } from "./result.ts";
import { SessionId } from "./schemas.ts";

const WRITES = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
const NAMED = 20;
const OnBusy = OnBusySchema.optional().describe(
  "When code runs: wait for its end (default), refuse, or fork the process.",
);

const ContextsOutput = z.array(
  z.looseObject({
    name: z.string(),
    language: z.string(),
    saved: z.number(),
    degraded: z.number(),
    lost: z.number(),
  }),
);

export function registerSnapshots(server: McpServer, client: Sandbar): void {
  server.registerTool(
    "snapshot_session",
    {
      title: "Snapshot a session",
      description:
        "Keeps the files and variables of a session; the session goes on. Give the snapshot_id to create_session for one " +
        "that begins with them. Answers which variables could not be kept.",
      inputSchema: z.object({ session_id: SessionId, name: z.string().max(128).optional(), on_busy: OnBusy }),
      outputSchema: z.looseObject({
        snapshot_id: z.string(),
        size: z.number(),
        contexts: ContextsOutput,
        expires_at: z.string(),
      }),
      annotations: WRITES,
    },
    ({ session_id, name, on_busy }, ctx) =>
      orRefusal(async () => {
        const session = await client.getSession(session_id);
        const options = { name, onBusy: on_busy, signal: ctx.mcpReq.signal };
        const { id, size, contexts, expires_at } = await session.snapshot(options);
        const lost = contexts.flatMap(({ variables }) =>
          variables
            .filter(({ status }) => status === "lost")
            .map(({ name, reason }) => `${name} (${reason})`),
        );
        const said = lost.length > 0 ? ` Not kept: ${lost.join(", ")}.` : "";
        return plainResult(`The snapshot ${id} has ${size} bytes.${said}`, {
          snapshot_id: id,
          size,
          contexts: contexts.map(({ variables, ...context }) => ({
            ...context,
            // What is whole need not be named to a model.
            not_whole: variables.filter(({ status }) => status !== "saved").slice(0, NAMED),
          })),
          expires_at,
        });
      }),
  );
  server.registerTool(
    "fork_session",
    {
      title: "Fork a session",
      description:
        "Makes new sessions that begin with a session's files and variables, and go their own ways from there.",
      inputSchema: z.object({
        session_id: SessionId,
        count: z.number().int().min(1).max(FORK_LIMIT).optional().describe("Default 1."),
        on_busy: OnBusy,
      }),
      outputSchema: z.looseObject({ session_ids: z.array(z.string()) }),
      annotations: WRITES,
    },
    ({ session_id, count, on_busy }, ctx) =>
      orRefusal(async () => {
        const session = await client.getSession(session_id);
        const forks = await session.fork(count, { onBusy: on_busy, signal: ctx.mcpReq.signal });
        const ids = forks.map(({ id }) => id);
        return plainResult(`Forked into ${ids.join(", ")}.`, { session_ids: ids });
      }),
  );
}
