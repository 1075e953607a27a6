#!/usr/bin/env node
import { EXIT } from "./invocation/exit-codes.ts";
import { explain } from "./invocation/explain.ts";
/** @module The `sandbar` command. */
import { program } from "./program.ts";

// `sandbar … | head` closes the pipe early; that is no error. Who has something to end first listens for SIGPIPE.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") {
    process.stderr.write(`sandbar: cannot write the output: ${error.message}\n`);
    process.on("exit", () => {
      process.exitCode ||= EXIT.failed;
    });
  }
  if (!process.emit("SIGPIPE", "SIGPIPE")) process.exit();
});
// There is nobody left to tell.
process.stderr.on("error", () => {});

try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
