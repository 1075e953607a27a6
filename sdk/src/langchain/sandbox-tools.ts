/** @module All tools at once, agreed on one kind of session. */
import type { StructuredToolInterface } from "@langchain/core/tools";
import { type CodeSandboxToolOptions, makeCodeSandboxTool, makeTerminalTool } from "./code-tools.ts";
import {
  makeExportDatasetsTool,
  makeListDatasetsTool,
  makeSelectDatasetTool,
  type SelectDatasetToolOptions,
} from "./dataset-tools.ts";
import { makeExportFilesTool, makeImportFilesTool } from "./file-tools.ts";

export type SandboxToolsOptions<Client> = Omit<
  CodeSandboxToolOptions & SelectDatasetToolOptions<Client>,
  "name" | "description"
>;

/** Code, terminal (not with the engine wasm, which has no shell) and file tools; with `fetchDataset` or `source` the dataset tools too. */
export function makeSandboxTools<Client = undefined>(
  options: SandboxToolsOptions<Client> = {},
): StructuredToolInterface[] {
  const api = Boolean(options.fetchDataset || options.source);
  // A key names one session, so every tool must ask for the same kind.
  const shared = api ? { ...options, session: { ...options.session, datasets: "API" as const } } : options;
  const access = shared.session?.datasets;
  return [
    makeCodeSandboxTool(shared),
    ...(shared.session?.engine === "wasm" ? [] : [makeTerminalTool(shared)]),
    makeImportFilesTool(shared),
    makeExportFilesTool(shared),
    ...(access && access !== "NONE" ? [makeListDatasetsTool(shared), makeExportDatasetsTool(shared)] : []),
    ...(api ? [makeSelectDatasetTool(shared)] : []),
  ];
}
