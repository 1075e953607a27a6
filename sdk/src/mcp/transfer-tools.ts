/** @module MCP tools for files, artifacts and datasets. */
import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Sandbar } from "../client.ts";
import type { Dataset } from "../datasets.ts";
import type { ImportFile } from "../files.ts";
import { artifactLink, orRefusal, plainResult } from "./result.ts";
import {
  ArtifactOutput,
  DatasetOutput,
  ExportInput,
  ExportOutput,
  ImportInput,
  ImportOutput,
  SessionId,
} from "./schemas.ts";

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const WRITES = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };

export function registerTransfers(server: McpServer, client: Sandbar): void {
  server.registerTool(
    "import_files",
    {
      title: "Bring files in",
      description:
        "Writes files into a session: given content, an artifact, another session's file, or a host path.",
      inputSchema: ImportInput,
      outputSchema: ImportOutput,
      annotations: { ...WRITES, destructiveHint: true },
    },
    ({ session_id, files }) =>
      orRefusal(async () => {
        const session = await client.getSession(session_id);
        const wanted = files.map(({ from_session_id, ...file }) => ({
          ...file,
          session_id: from_session_id,
        }));
        const results = await session.files.import(wanted as ImportFile[]);
        const lines = results.map(({ destination, ok, size, error }) =>
          ok ? `${destination}: ${size} bytes` : `${destination}: failed: ${JSON.stringify(error)}`,
        );
        return {
          ...plainResult(lines.join("\n"), { files: results }),
          isError: results.every(({ ok }) => !ok),
        };
      }),
  );
  server.registerTool(
    "export_files",
    {
      title: "Take files out",
      description: "Keeps files or folders of a session as artifacts, which stay after the session ends.",
      inputSchema: ExportInput,
      outputSchema: ExportOutput,
      annotations: WRITES,
    },
    ({ session_id, files }) =>
      orRefusal(async () => {
        const session = await client.getSession(session_id);
        const results = await session.export(files);
        const lines = results.map(({ source, ok, artifact, error }) =>
          ok ? `${source}: artifact ${artifact?.id}` : `${source}: failed: ${JSON.stringify(error)}`,
        );
        return {
          content: [
            { type: "text", text: lines.join("\n") },
            ...results.flatMap(({ artifact }) => (artifact ? [artifactLink(artifact)] : [])),
          ],
          structuredContent: { files: results },
          isError: results.every(({ ok }) => !ok),
        };
      }),
  );
  server.registerTool(
    "list_artifacts",
    {
      title: "List artifacts",
      description: "Artifacts of a session, or all: files that sessions left behind.",
      inputSchema: z.object({ session_id: SessionId.optional() }),
      outputSchema: z.object({ artifacts: z.array(ArtifactOutput) }),
      annotations: READS,
    },
    ({ session_id }) =>
      orRefusal(async () => {
        const of = session_id ? (await client.getSession(session_id)).artifacts : client.artifacts;
        const { data } = await of.list().page(undefined, 100);
        const lines = data.map(({ id, name, size, mime }) => `${id}  ${name} (${mime}, ${size} bytes)`);
        return {
          content: [{ type: "text", text: lines.join("\n") || "No artifacts." }, ...data.map(artifactLink)],
          structuredContent: { artifacts: data },
        };
      }),
  );
  server.registerTool(
    "select_dataset",
    {
      title: "Load a dataset",
      description:
        "Loads a dataset from a registered source, or an artifact, into a session; answers its path.",
      inputSchema: z.object({
        session_id: SessionId,
        dataset_id: z.string(),
        source: z.string().optional().describe("Name of a registered source."),
        artifact_id: z.string().optional(),
      }),
      outputSchema: DatasetOutput,
      annotations: { ...WRITES, openWorldHint: true },
    },
    ({ session_id, dataset_id, source, artifact_id }, ctx) =>
      orRefusal(async () => {
        const session = await client.getSession(session_id);
        const from = artifact_id ? { artifact_id } : { source: source ?? "" };
        const dataset = await session.datasets.select(dataset_id, from, { signal: ctx.mcpReq.signal });
        return plainResult(`${dataset.id}: ${dataset.status} at ${dataset.path}`, described(dataset));
      }),
  );
  server.registerTool(
    "list_datasets",
    {
      title: "List datasets",
      description: "Datasets that code in a session can read, with their paths.",
      inputSchema: z.object({ session_id: SessionId }),
      outputSchema: z.object({ access: z.string(), datasets: z.array(DatasetOutput) }),
      annotations: READS,
    },
    ({ session_id }) =>
      orRefusal(async () => {
        const { access, data } = await (await client.getSession(session_id)).datasets.list();
        const lines = data.map(({ id, status, path }) => `${id}: ${status} at ${path}`);
        const text =
          access === "NONE" ? "This session has no datasets." : lines.join("\n") || "No datasets yet.";
        return plainResult(text, { access, datasets: data.map(described) });
      }),
  );
}

function described({ id, status, path, size, version }: Dataset) {
  return { id, status, path, size: size ?? null, version: version ?? null };
}
