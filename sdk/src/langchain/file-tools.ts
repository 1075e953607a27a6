/** @module Tools that bring files in and out. */
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { ImportFile } from "../files.ts";
import { orFailure } from "./failure.ts";
import { type SandboxToolOptions, ToolSessions } from "./tool-sessions.ts";

/** Flat, because not every model's tool calling knows unions. */
const ImportSchema = z.object({
  destination: z.string().describe("Path in the sandbox; relative paths start at /session."),
  content: z.string().optional().describe("The content itself."),
  encoding: z.enum(["utf8", "base64"]).optional().describe("Of content; default utf8."),
  artifact_id: z.string().optional().describe("An artifact to bring back."),
  session_id: z.string().optional().describe("Another session to copy from, with path."),
  path: z.string().optional().describe("The path in that session."),
  source: z.string().optional().describe("A path on the host, where the operator allows it."),
});

export function makeImportFilesTool(options: SandboxToolOptions = {}) {
  const sessions = new ToolSessions(options);
  return tool(
    ({ files }, config) =>
      orFailure(async () => {
        const { value, notice } = await sessions.use(config, (session) =>
          session.files.import(files as ImportFile[]),
        );
        const lines = value.map(({ destination, ok, size, error }) =>
          ok ? `${destination}: ${size} bytes` : `${destination}: failed: ${reason(error)}`,
        );
        return [[...(notice ? [`[${notice}]`] : []), ...lines].join("\n"), { files: value }];
      }),
    {
      name: options.name ?? "import_files",
      description:
        options.description ??
        "Writes files into the sandbox, from given content, an artifact, or another session.",
      schema: z.object({ files: z.array(ImportSchema).min(1).max(100) }),
      responseFormat: "content_and_artifact",
    },
  );
}

export function makeExportFilesTool(options: SandboxToolOptions = {}) {
  const sessions = new ToolSessions(options);
  return tool(
    ({ files }, config) =>
      orFailure(async () => {
        const { value } = await sessions.use(config, (session) => session.export(files));
        const lines = value.map(({ source, ok, artifact, error }) =>
          ok && artifact
            ? `[artifact] ${artifact.name} (${artifact.size} bytes, id ${artifact.id})`
            : `${source}: failed: ${reason(error)}`,
        );
        const artifacts = value.flatMap(({ artifact }) => (artifact ? [artifact] : []));
        return [lines.join("\n"), { files: value, artifacts }];
      }),
    {
      name: options.name ?? "export_files",
      description: options.description ?? "Keeps files or folders of the sandbox for the user, as artifacts.",
      schema: z.object({
        files: z
          .array(
            z.object({
              source: z.string().describe("Path in the sandbox."),
              name: z.string().optional().describe("Name of the artifact; default the file's own."),
            }),
          )
          .min(1)
          .max(100),
      }),
      responseFormat: "content_and_artifact",
    },
  );
}

function reason(error: { code: string; detail: string } | string | undefined): string {
  return typeof error === "string" ? error : (error?.detail ?? "unknown");
}
