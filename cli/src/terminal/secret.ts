/** @module A secret: typed without being shown, or piped in. Command lines are seen by others and kept by shells. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { UsageError } from "../invocation/explain.ts";
import { leaveBy } from "../invocation/signals.ts";

export async function readSecret(question: string): Promise<string> {
  const secret = (process.stdin.isTTY ? await typed(question) : await text(process.stdin)).trim();
  if (secret === "") throw new UsageError("nothing was given");
  return secret;
}

function typed(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const readline = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 });
  // Only now does the terminal no longer show what is typed.
  process.stderr.write(question);
  return new Promise((resolve) => {
    readline.once("SIGINT", () => {
      readline.close();
      process.stderr.write("\n");
      leaveBy("SIGINT");
    });
    readline.once("line", (line) => {
      resolve(line);
      readline.close();
    });
    readline.once("close", () => {
      process.stderr.write("\n");
      resolve("");
    });
  });
}
