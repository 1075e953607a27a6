/** @module Output in the order it came, both streams together, up to a limit. */
import type { ExecuteResponse } from "deepagents";
import type { Execution } from "../execution.ts";

export class OutputCollector {
  readonly #limit: number;
  readonly #seen = { stdout: 0, stderr: 0 };
  #text = "";
  #cut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(stream: "stdout" | "stderr", text: string): void {
    this.#seen[stream] += text.length;
    const room = this.#limit - this.#text.length;
    if (text.length > room) this.#cut = true;
    this.#text += text.slice(0, Math.max(0, room));
  }

  response(execution: Execution, timeoutS: number): ExecuteResponse {
    const dropped = (["stdout", "stderr"] as const).some(
      (stream) => (execution.truncated[stream] ?? 0) > this.#seen[stream],
    );
    const truncated = this.#cut || dropped;
    const parts = [this.#text];
    if (truncated) parts.push(`\n\n... Output truncated at ${this.#text.length} characters.`);
    const { status, error } = execution;
    switch (status) {
      case "ok":
      case "error":
        return {
          output: parts.join(""),
          exitCode: execution.exit_code ?? (status === "ok" ? 0 : 1),
          truncated,
        };
      case "timeout":
        parts.push(`\nError: Command timed out after ${timeoutS} seconds.`);
        return { output: parts.join(""), exitCode: 124, truncated };
      default:
        parts.push(`\nError: ${error?.name ?? status}: ${error?.value ?? "the command did not finish"}`);
        return {
          output: parts.join(""),
          exitCode: status === "unknown" ? null : status === "died" ? 137 : 130,
          truncated,
        };
    }
  }
}
