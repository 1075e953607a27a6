/** @module Shows an execution while it runs; Ctrl-C interrupts the code first and quits when pressed again. */
import { existsSync, writeFileSync } from "node:fs";
import type { Execution, ExecutionEvent, ExecutionStream } from "@sandbar/sdk";
import { cuts } from "@sandbar/sdk";
import { EXIT } from "../invocation/exit-codes.ts";
import { clean, dim, red, size } from "./print.ts";

const IMAGES: Record<string, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/svg+xml": "svg",
  "image/gif": "gif",
  "application/pdf": "pdf",
};

export async function showLive(stream: ExecutionStream): Promise<Execution> {
  return interruptible(stream, () => stream.finished(showEvent));
}

/** The first SIGINT interrupts the code, and its end is awaited; a second one leaves at once. So does a reader that left. */
export async function interruptible<T>(stream: ExecutionStream, work: () => Promise<T>): Promise<T> {
  let pressed = 0;
  const onSignal = () => {
    if (++pressed > 1) {
      process.stderr.write(`${dim("left; the code may still run")}\n`);
      process.exit(EXIT.interrupted);
    }
    process.stderr.write(`${dim("interrupting (Ctrl-C again leaves)")}\n`);
    interrupt();
  };
  const interrupt = () =>
    void stream.interrupt().catch((error: Error) => process.stderr.write(`${red(error.message)}\n`));
  let readerLeft = false;
  const onPipe = () => {
    if (!readerLeft) interrupt();
    readerLeft = true;
  };
  process.on("SIGINT", onSignal);
  process.on("SIGPIPE", onPipe);
  try {
    return await work();
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGPIPE", onPipe);
  }
}

export function showEvent(event: ExecutionEvent): void {
  switch (event.type) {
    case "stdout":
      process.stdout.write(event.text);
      break;
    case "stderr":
      process.stderr.write(event.text);
      break;
    case "result":
      showResult(event.data);
      break;
    case "artifact":
      process.stderr.write(
        dim(`artifact ${event.artifact.id}  ${clean(event.artifact.name)}  ${size(event.artifact.size)}\n`),
      );
      break;
    case "error":
      process.stderr.write(
        `${event.error.traceback || `${event.error.name}: ${event.error.value}`}`.trimEnd(),
      );
      process.stderr.write("\n");
      break;
    case "finished":
      showEnding(event.execution);
      break;
  }
}

function showResult(bundle: Record<string, unknown>): void {
  for (const [mime, extension] of Object.entries(IMAGES)) {
    const data = bundle[mime];
    if (typeof data !== "string") continue;
    const name = freeName(extension);
    writeFileSync(name, extension === "svg" ? data : Buffer.from(data, "base64"), { flag: "wx" });
    process.stderr.write(dim(`saved ${name}\n`));
    return;
  }
  const text = bundle["text/plain"] ?? bundle["application/json"];
  if (text !== undefined) process.stdout.write(`${typeof text === "string" ? text : JSON.stringify(text)}\n`);
}

/** The errors of the code itself have been shown; this is about ends that were not its own. */
function showEnding(execution: Execution): void {
  const { status, error, state, truncated } = execution;
  for (const line of cuts(truncated)) process.stderr.write(dim(`${clean(line)}\n`));
  for (const { name, reason } of execution.artifacts_skipped)
    process.stderr.write(dim(`not kept: ${clean(name)}: ${reason}\n`));
  if (state.reason) process.stderr.write(red(`variables of earlier code were lost: ${state.reason}\n`));
  if (status === "ok" || status === "error") return;
  const why = error ? `${error.name}: ${error.value}` : status;
  process.stderr.write(red(`${why} (variables ${state.variables}, files ${state.files})\n`));
}

export function freeName(extension: string): string {
  for (let n = 1; ; n++) {
    const name = `image-${n}.${extension}`;
    if (!existsSync(name)) return name;
  }
}
