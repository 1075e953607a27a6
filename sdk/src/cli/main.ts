#!/usr/bin/env node
import { explain } from "./explain.ts";
/** @module The `sandbar` command. */
import { program } from "./program.ts";

// `sandbar … | head` closes the pipe early; that is no error. Who has something to end first listens for SIGPIPE.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (!process.emit("SIGPIPE", "SIGPIPE")) process.exit(0);
});

try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
