/** @module What the user reads when a command fails. */

import { ExecutionAborted, SandbarError } from "@sandbar/sdk";
import { CommanderError } from "commander";
import { EXIT } from "./exit-codes.ts";
import { aboutRefusedKey } from "./refused-key.ts";

/** A mistake in the command line or its files; the message is all there is to say. */
export class UsageError extends Error {}

export function explain(
  error: unknown,
  write: (text: string) => void = (text) => process.stderr.write(text),
): number {
  // Commander has said what is wrong, or shown what was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof ExecutionAborted) {
    write(`${error.message}\n`);
    return EXIT.interrupted;
  }
  if (error instanceof SandbarError) {
    const refused = error.code === "UNAUTHENTICATED" ? aboutRefusedKey() : null;
    write(`sandbar: ${refused ? `${error.code}: ${refused.detail}` : error.message}\n`);
    const details = error.errors.map(({ path, message }) => `${path}: ${message}`);
    for (const detail of details) if (!error.message.includes(detail)) write(`  ${detail}\n`);
    const hint = refused?.hint ?? error.hint;
    if (hint && error.code !== "VALIDATION_FAILED") write(`hint: ${hint}\n`);
    if (error.requestId) write(`request: ${error.requestId}\n`);
    return EXIT.failed;
  }
  if (error instanceof UsageError) {
    write(`sandbar: ${error.message}\n`);
    return EXIT.usage;
  }
  const text = process.env.SANDBAR_DEBUG ? (error as Error).stack : (error as Error).message;
  write(`sandbar: ${text ?? String(error)}\n`);
  return EXIT.failed;
}
