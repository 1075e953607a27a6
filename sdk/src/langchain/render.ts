/** @module An execution as a tool message: content for the model, a summary as artifact. */
import { type DescribeOptions, describeExecution, type ExecutionSummary, summarize } from "../describe.ts";
import type { Execution } from "../execution.ts";

export type ContentBlock = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

export function renderExecution(
  execution: Execution,
  notice: string | null,
  options: DescribeOptions = {},
): [string | ContentBlock[], ExecutionSummary] {
  const description = describeExecution(execution, options);
  const text = notice ? `[${notice}]\n${description.text}` : description.text;
  const images = description.images.map(
    ({ mime, data }): ContentBlock => ({
      type: "image_url",
      image_url: { url: `data:${mime};base64,${data}` },
    }),
  );
  return [images.length > 0 ? [{ type: "text", text }, ...images] : text, summarize(execution)];
}
