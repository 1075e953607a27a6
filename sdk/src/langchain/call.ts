/** @module What LangGraph tells a tool about the call it is in. */
import type { ToolRunnableConfig } from "@langchain/core/tools";

export type StreamWriter = (chunk: unknown) => void;

/** Sends to the graph's `custom` stream; outside of a graph nobody listens. */
export function streamWriter(config: ToolRunnableConfig): StreamWriter {
  const { writer } = config as { writer?: StreamWriter | null };
  return (chunk) => writer?.(chunk);
}

/**
 * The same for the same tool call of the same graph step, also when a step is tried again or resumed from a
 * checkpoint in another process: then the code that ran already is not run twice. Calls that are not part of a step get none.
 */
export function callKey(config: ToolRunnableConfig): string | undefined {
  const step = config.configurable?.checkpoint_ns as string | undefined;
  const call = config.toolCall?.id ?? (config as { toolCallId?: string }).toolCallId;
  if (!step || !call) return undefined;
  // A header holds visible ASCII only.
  return encodeURIComponent(`lc:${step}:${call}`).slice(0, 255);
}
