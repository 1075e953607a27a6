/** @module The MCP server: Sandbar's sessions as tools, its artifacts as resources. Runs wherever the client does. */
import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { LanguageSchema, VERSION } from "@sandbar/shared";
import { z } from "zod";
import type { Sandbar, SessionOptions } from "../client.ts";
import { abilitiesInWords } from "../engine-notice.ts";
import { SandbarError } from "../errors.ts";
import type { Execution } from "../execution.ts";
import type { RunOptions, Session } from "../session.ts";
import { progressOf } from "./progress.ts";
import { artifactUri, base64, executionResult, orRefusal, plainResult } from "./result.ts";
import { CreateSessionInput, SessionId, SessionOutput, TimeoutS } from "./schemas.ts";
import { registerSnapshots } from "./snapshot-tools.ts";
import { registerTransfers } from "./transfer-tools.ts";

const INSTRUCTIONS =
  "Runs code in isolated sandboxes. Call create_session once and pass its session_id to the other tools. " +
  "Variables, imports and files stay between calls. Files written to /session/artifacts are kept as artifacts.";

/** Of an artifact in one message; its link has no such limit. */
const RESOURCE_BYTES = 8 * 1024 * 1024;

export function createMcpServer(client: Sandbar, defaults: Partial<SessionOptions> = {}): McpServer {
  const server = new McpServer(
    { name: "sandbar", title: "Sandbar", version: VERSION },
    {
      instructions: INSTRUCTIONS,
      capabilities: { tools: { listChanged: false }, resources: { listChanged: false } },
    },
  );
  registerSessions(server, client, defaults);
  registerExecution(server, client);
  registerTransfers(server, client);
  registerSnapshots(server, client);
  registerResources(server, client);
  return server;
}

function registerSessions(server: McpServer, client: Sandbar, defaults: Partial<SessionOptions>): void {
  server.registerTool(
    "create_session",
    {
      title: "Create a sandbox session",
      description:
        "Makes a sandbox, or finds the one with the same key. Answers its session_id, and which languages and what else it has.",
      inputSchema: CreateSessionInput,
      outputSchema: SessionOutput,
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: false,
      },
    },
    ({ timeout_s, snapshot_id, ...input }, ctx) =>
      orRefusal(async () => {
        const limits = { ...defaults.limits, ...(timeout_s === undefined ? {} : { timeout_s }) };
        // Whoever has a token has one session, whatever is asked for.
        const { info } = client.hasToken
          ? await client.attach()
          : await client.session(
              {
                ...defaults,
                ...input,
                ...(snapshot_id === undefined ? {} : { snapshot: snapshot_id }),
                ...(Object.keys(limits).length > 0 ? { limits } : {}),
              },
              { signal: ctx.mcpReq.signal },
            );
        const { id, key, runtime, engine, languages, capabilities, status, network, datasets, expires_at } =
          info;
        const has = abilitiesInWords(info);
        return plainResult(`The ${runtime} session ${id} is ${status}.${has && ` ${has}`}`, {
          session_id: id,
          key,
          runtime,
          engine,
          languages,
          capabilities,
          status,
          network,
          datasets: datasets.access,
          expires_at,
        });
      }),
  );
  server.registerTool(
    "stop_session",
    {
      title: "Stop a session",
      description: "Ends a session. Its variables and files are gone; artifacts stay.",
      inputSchema: z.object({ session_id: SessionId }),
      outputSchema: z.object({ session_id: z.string(), stopped: z.boolean() }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    ({ session_id }) =>
      orRefusal(async () => {
        await client.stopSession(session_id);
        return plainResult(`The session ${session_id} is stopped.`, { session_id, stopped: true });
      }),
  );
}

function registerExecution(server: McpServer, client: Sandbar): void {
  // Code may do anything inside its sandbox, and reach the internet when the session has a network.
  const annotations = {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  };
  server.registerTool(
    "execute_code",
    {
      title: "Run code",
      description:
        "Runs code in a session's kernel and answers its output, the value of its last expression, images and " +
        "artifacts. Variables stay for the next call.",
      inputSchema: z.object({
        session_id: SessionId,
        code: z.string(),
        language: LanguageSchema.optional().describe("One that the session has; default: its runtime."),
        context: z.string().optional().describe("A named kernel with variables of its own."),
        timeout_s: TimeoutS,
      }),
      annotations,
    },
    ({ session_id, code, language, context, timeout_s }, ctx) =>
      execute(client, session_id, ctx, (session, options) =>
        session.run(code, { ...options, language, context, timeoutS: timeout_s }),
      ),
  );
  server.registerTool(
    "execute_terminal",
    {
      title: "Run a shell command",
      description:
        "Runs a bash command in a session that has bash (create_session says so). The working directory and variables stay " +
        "for the next call.",
      inputSchema: z.object({ session_id: SessionId, command: z.string(), timeout_s: TimeoutS }),
      annotations,
    },
    ({ session_id, command, timeout_s }, ctx) =>
      execute(client, session_id, ctx, (session, options) =>
        session.sh(command, { ...options, timeoutS: timeout_s }),
      ),
  );
}

function execute(
  client: Sandbar,
  sessionId: string,
  ctx: ServerContext,
  run: (session: Session, options: RunOptions) => Promise<Execution>,
) {
  return orRefusal(async () => {
    const session = await client.getSession(sessionId);
    const progress = progressOf(ctx);
    try {
      const { signal } = ctx.mcpReq;
      const onOutput = (text: string) => progress.output(text);
      const execution = await run(session, { signal, onStdout: onOutput, onStderr: onOutput });
      return await executionResult(execution, (id) => client.artifacts.read(id, { signal }));
    } finally {
      progress.stop();
    }
  });
}

function registerResources(server: McpServer, client: Sandbar): void {
  server.registerResource(
    "artifact",
    new ResourceTemplate(artifactUri("{id}"), {
      list: async () => ({
        resources: (await client.artifacts.list().page(undefined, 100)).data.map(
          ({ id, name, mime, size }) => ({
            uri: artifactUri(id),
            name,
            mimeType: mime,
            size,
          }),
        ),
      }),
    }),
    { title: "Artifact", description: "A file that a session left in /session/artifacts." },
    async (uri, { id }) => {
      const artifact = await client.artifacts.get(String(id)).catch((error) => {
        if (error instanceof SandbarError && error.status === 404) throw new ResourceNotFoundError(uri.href);
        throw error;
      });
      if (artifact.size > RESOURCE_BYTES) {
        const { url } = await client.artifacts.link(artifact.id);
        const detail = `${artifact.name} has ${artifact.size} bytes; ${RESOURCE_BYTES} can be read here. Whole: ${url}`;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, detail);
      }
      const bytes = await client.artifacts.read(artifact.id);
      const base = { uri: uri.href, mimeType: artifact.mime };
      return {
        contents: [
          artifact.mime.startsWith("text/") || artifact.mime === "application/json"
            ? { ...base, text: new TextDecoder().decode(bytes) }
            : { ...base, blob: base64(bytes) },
        ],
      };
    },
  );
}
