/** @module Shows an execution while it runs; Ctrl-C interrupts the code first and quits when pressed again. */
import { existsSync, writeFileSync } from "node:fs";
import type { Execution, ExecutionEvent, ExecutionStream } from "@sandbar/sdk";
import { cuts } from "@sandbar/sdk";
import { EXIT } from "../invocation/exit-codes.ts";
import { inlinePicture } from "./inline-picture.ts";
import { clean, dim, red, size } from "./print.ts";

const IMAGES: Record<string, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/svg+xml": "svg",
  "image/gif": "gif",
  "application/pdf": "pdf",
};

/** Pictures are shown where the terminal can, and saved where that is asked for. */
export interface Shown {
  readonly saveImages?: boolean | undefined;
}

export async function showLive(stream: ExecutionStream, shown: Shown = {}): Promise<Execution> {
  return interruptible(stream, () => stream.finished((event) => showEvent(event, shown)));
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

function showEvent(event: ExecutionEvent, shown: Shown): void {
  switch (event.type) {
    case "stdout":
      process.stdout.write(event.text);
      break;
    case "stderr":
      process.stderr.write(event.text);
      break;
    case "result":
      showResult(event.data, shown);
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

function showResult(bundle: Record<string, unknown>, { saveImages }: Shown): void {
  const [mime, extension] = Object.entries(IMAGES).find(([mime]) => typeof bundle[mime] === "string") ?? [];
  if (mime !== undefined && extension !== undefined) {
    const data = bundle[mime] as string;
    const bytes = Buffer.from(data, extension === "svg" ? "utf8" : "base64");
    const inline = process.stdout.isTTY && extension !== "svg" ? inlinePicture(bytes) : null;
    if (inline) process.stdout.write(`${inline}\n`);
    if (saveImages) {
      const name = freeName(extension);
      writeFileSync(name, bytes, { flag: "wx" });
      process.stderr.write(dim(`saved ${name}\n`));
    } else if (!inline) process.stderr.write(dim(`${mime}, ${size(bytes.length)}: --save-images saves it\n`));
    if (inline || saveImages) return;
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
