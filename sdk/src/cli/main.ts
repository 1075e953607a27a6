#!/usr/bin/env node
import { explain } from "./explain.ts";
/** @module The `sandbar` command. */
import { program } from "./program.ts";

// `sandbar … | head` closes the pipe early; that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
