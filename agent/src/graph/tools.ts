/** @module The agent's tools: Sandbar's own, in the thread's sandbox. In read-only mode they look and change nothing. */
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import { elide, type Sandbar, SandbarError, type Session, type SessionOptions } from "@sandbar/sdk";
import { type CodeToolOptions, makeListDatasetsTool, makeSandboxTools } from "@sandbar/sdk/langchain";
import { z } from "zod";

export interface ToolsOptions {
  readonly sandbar: Sandbar;
  /** The thread's id. */
  readonly key: string;
  readonly session: Omit<SessionOptions, "key">;
  readonly readOnly: boolean;
  readonly onEvent: NonNullable<CodeToolOptions["onEvent"]>;
}

/** What the model gets of one answer; the user sees all of it. */
const MAX_OUTPUT_CHARS = 16_000;
/** In base64; plots are far smaller. */
const MAX_IMAGE_CHARS = 1_000_000;
const MAX_READ_BYTES = 64 * 1024;

/** Tools whose calls wait for a human when approval is wanted. */
export const NEEDS_APPROVAL = ["code_sandbox", "terminal"];

export function agentTools({
  sandbar,
  key,
  session,
  readOnly,
  onEvent,
}: ToolsOptions): StructuredToolInterface[] {
  const options = { client: sandbar, sessionKey: key, session };
  if (readOnly) return [...lookingTools(sandbar, key), makeListDatasetsTool(options)];
  return makeSandboxTools({
    ...options,
    onEvent,
    maxOutputChars: MAX_OUTPUT_CHARS,
    // Kept even for models that do not see: the user does.
    maxImageChars: MAX_IMAGE_CHARS,
  });
}

function lookingTools(sandbar: Sandbar, key: string): StructuredToolInterface[] {
  const look = async (work: (session: Session) => Promise<string>): Promise<string> => {
    const session = await sandbar.findSession(key);
    if (!session) return "This conversation has no sandbox yet, so there are no files.";
    return work(session).catch((error) => {
      if (error instanceof SandbarError && error.status < 500 && error.status !== 401) return error.message;
      throw error;
    });
  };
  return [
    tool(
      ({ path }) =>
        look(async (session) => {
          const entries = await session.files.list(path ?? "/session");
          const lines = entries.map(({ path, type, size }) => `${path} (${type}, ${size} bytes)`);
          return elide(lines.join("\n"), MAX_OUTPUT_CHARS) || "(empty)";
        }),
      {
        name: "list_files",
        description: "Lists a folder of the sandbox.",
        schema: z.object({ path: z.string().optional().describe("Default: /session.") }),
      },
    ),
    tool(
      ({ path, start }) =>
        look(async (session) => {
          const { body } = await session.files.open(path, { start });
          return elide(await beginning(body), MAX_OUTPUT_CHARS);
        }),
      {
        name: "read_file",
        description: "Reads a text file of the sandbox: the first 64 KB from `start` on.",
        schema: z.object({ path: z.string(), start: z.number().int().min(0).optional() }),
      },
    ),
  ];
}

async function beginning(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    bytes += chunk.byteLength;
    // Leaving the loop cancels the transfer.
    if (bytes >= MAX_READ_BYTES) return `${text.slice(0, MAX_READ_BYTES)}\n[the file goes on]`;
  }
  return text;
}
