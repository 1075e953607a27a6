/** @module Tool results: text and images for the model, what programs need beside them, links to whole artifacts. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Artifact } from "../artifacts.ts";
import { describeExecution, summarize } from "../describe.ts";
import { SandbarError } from "../errors.ts";
import type { Execution } from "../execution.ts";

export const artifactUri = (id: string) => `sandbar://artifacts/${id}`;

const SHOWN_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const SHOWN_BYTES = 256 * 1024;
const SHOWN_AT_MOST = 3;

export async function executionResult(
  execution: Execution,
  read: (artifactId: string) => Promise<Uint8Array>,
): Promise<CallToolResult> {
  const { text, images } = describeExecution(execution);
  // A figure that was saved and not displayed is worth a look too; the link leads to the whole file.
  if (images.length === 0) images.push(...(await smallImages(execution.artifacts, read)));
  return {
    content: [
      { type: "text", text },
      ...images.map(({ mime, data }) => ({ type: "image" as const, mimeType: mime, data })),
      ...execution.artifacts.map(artifactLink),
    ],
    // Not as structured content: some clients give the model that and the text, others nothing but that, no images either.
    _meta: { "sandbar/execution": { ...summarize(execution), error: execution.error?.name ?? null } },
    isError: !execution.succeeded,
  };
}

async function smallImages(artifacts: readonly Artifact[], read: (id: string) => Promise<Uint8Array>) {
  const small = artifacts.filter(({ mime, size }) => SHOWN_TYPES.includes(mime) && size <= SHOWN_BYTES);
  const shown = await Promise.all(
    small.slice(0, SHOWN_AT_MOST).map(async ({ id, mime }) => {
      // The picture is a courtesy: the result stands without it.
      const bytes = await read(id).catch(() => null);
      return bytes && { mime, data: base64(bytes) };
    }),
  );
  return shown.filter((image) => image !== null);
}

export function base64(bytes: Uint8Array): string {
  let binary = "";
  // In pieces: a call takes only so many arguments.
  for (let i = 0; i < bytes.length; i += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(binary);
}

export function artifactLink({ id, name, mime, size }: Artifact) {
  return { type: "resource_link" as const, uri: artifactUri(id), name, mimeType: mime, size };
}

export function plainResult(text: string, structuredContent: Record<string, unknown>): CallToolResult {
  return { content: [{ type: "text", text }], structuredContent };
}

/** A refusal is something the model can read and act on, not a broken protocol. */
export async function orRefusal(work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandbarError)) throw error;
    const lines = [
      error.message,
      ...error.errors.map(({ path, message }) => `${path}: ${message}`),
      error.hint ?? "",
    ];
    const { code, hint, retryable, status, requestId: request_id, errors } = error;
    return {
      content: [{ type: "text", text: lines.filter(Boolean).join("\n") }],
      isError: true,
      // Not as structured content: that has the shape of the tool's output.
      _meta: {
        "sandbar/problem": { code, detail: error.message, hint, retryable, status, request_id, errors },
      },
    };
  }
}
