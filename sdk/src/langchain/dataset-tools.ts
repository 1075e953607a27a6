/** @module Tools that stage, list and export datasets. */
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { Artifact } from "../artifacts.ts";
import type { DatasetOrigin, FetchedDataset } from "../datasets.ts";
import { SandbarError } from "../errors.ts";
import { streamWriter } from "./call.ts";
import { orFailure } from "./failure.ts";
import { type SandboxToolOptions, ToolSessions } from "./tool-sessions.ts";

const DatasetId = z.string().min(1).describe("The dataset's id.");

export interface SelectDatasetToolOptions<Client> extends SandboxToolOptions {
  /** Gives the bytes of a dataset, optionally with their SHA-256 and a version. */
  fetchDataset?: (
    id: string,
    options: { client: Client; signal?: AbortSignal },
  ) => FetchedDataset | Promise<FetchedDataset>;
  /** Handed to `fetchDataset`: the client of whatever API holds the datasets. */
  datasetClient?: Client;
  /** Instead of a function: the name of a source that the operator registered. */
  source?: string;
}

/** Stages a dataset for code to read. Give a function that fetches it, or a registered source. */
export function makeSelectDatasetTool<Client = undefined>(options: SelectDatasetToolOptions<Client>) {
  const { fetchDataset, datasetClient, source } = options;
  if (!fetchDataset && !source) throw new Error("makeSelectDatasetTool needs fetchDataset or source");
  const sessions = new ToolSessions(options);
  return tool(
    ({ dataset_id }, config) =>
      orFailure(async () => {
        const write = streamWriter(config);
        write({ type: "dataset", id: dataset_id, status: "PENDING" });
        const from:
          | DatasetOrigin
          | ((id: string, o: { signal?: AbortSignal }) => FetchedDataset | Promise<FetchedDataset>) =
          fetchDataset
            ? (id, { signal }) => fetchDataset(id, { client: datasetClient as Client, signal })
            : { source: source! };
        const { value, notice } = await sessions.use(config, (session) =>
          session.datasets.select(dataset_id, from, { signal: config.signal }),
        );
        write({ type: "dataset", id: dataset_id, status: value.status });
        const text =
          value.status === "FAILED"
            ? `The dataset ${dataset_id} could not be loaded: ${JSON.stringify(value.error)}`
            : `The dataset ${dataset_id} is at ${value.path} (${value.size} bytes${value.version ? `, version ${value.version}` : ""}).`;
        return [notice ? `[${notice}]\n${text}` : text, value];
      }),
    {
      name: options.name ?? "select_dataset",
      description:
        options.description ??
        "Loads a dataset into the sandbox and answers the path where code can read it.",
      schema: z.object({ dataset_id: DatasetId }),
      responseFormat: "content_and_artifact",
    },
  );
}

export function makeListDatasetsTool(options: SandboxToolOptions = {}) {
  const sessions = new ToolSessions(options);
  return tool(
    (_, config) =>
      orFailure(async () => {
        const { value } = await sessions.use(config, (session) => session.datasets.list());
        if (value.access === "NONE") return ["This session has no datasets.", value];
        const lines = value.data.map(({ id, status, path, size, mtime }) =>
          status === "LOADED" ? `${id}: ${path} (${size} bytes, ${mtime})` : `${id}: ${status}`,
        );
        const where = value.access === "LOCAL_RO" ? "read-only at /data" : "loaded into /session/data";
        return [
          lines.length > 0 ? `Datasets ${where}:\n${lines.join("\n")}` : `No datasets ${where}.`,
          value,
        ];
      }),
    {
      name: options.name ?? "list_datasets",
      description: options.description ?? "Lists the datasets that code in the sandbox can read.",
      schema: z.object({}),
      responseFormat: "content_and_artifact",
    },
  );
}

/** Keeps changed datasets as artifacts. */
export function makeExportDatasetsTool(options: SandboxToolOptions = {}) {
  const sessions = new ToolSessions(options);
  return tool(
    ({ dataset_ids }, config) =>
      orFailure(async () => {
        const { value } = await sessions.use(config, async (session) => {
          const artifacts: Artifact[] = [];
          const failed: { id: string; reason: string }[] = [];
          for (const id of dataset_ids)
            await session.datasets.export(id).then(
              (artifact) => artifacts.push(artifact),
              (error) => {
                if (!(error instanceof SandbarError)) throw error;
                failed.push({ id, reason: error.message });
              },
            );
          return { artifacts, failed };
        });
        const lines = [
          ...value.artifacts.map(({ name, id, size }) => `[artifact] ${name} (${size} bytes, id ${id})`),
          ...value.failed.map(({ id, reason }) => `[failed] ${id}: ${reason}`),
        ];
        return [lines.join("\n"), value];
      }),
    {
      name: options.name ?? "export_datasets",
      description:
        options.description ?? "Keeps datasets as they are now in the sandbox for the user, as artifacts.",
      schema: z.object({ dataset_ids: z.array(DatasetId).min(1).max(50) }),
      responseFormat: "content_and_artifact",
    },
  );
}
