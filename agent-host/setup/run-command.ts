import { spawn } from "node:child_process";
import type { Readable } from "node:stream";

export type Log = (line: string) => void;

type Options = { env?: NodeJS.ProcessEnv; onLine?: Log };

/** Runs a command to its end; when it fails, the error carries its last lines. */
export async function runCommand(
  [file, ...args]: [string, ...string[]],
  options: Options = {},
): Promise<void> {
  const child = spawn(file, args, { env: options.env, stdio: ["ignore", "pipe", "pipe"] });
  const tail: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    onLines(stream, (line) => {
      tail.push(line);
      if (tail.length > 20) tail.shift();
      options.onLine?.(line);
    });
  }
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else
        reject(new Error(`${[file, ...args].join(" ")} ended with ${signal ?? code}:\n${tail.join("\n")}`));
    });
  });
}

export async function succeeds(command: [string, ...string[]]): Promise<boolean> {
  return runCommand(command).then(
    () => true,
    () => false,
  );
}

/** What to put before a command that needs root; undefined if this user cannot become root without a password. */
export async function rootPrefix(): Promise<string[] | undefined> {
  if (process.getuid?.() === 0) return [];
  return (await succeeds(["sudo", "-n", "true"])) ? ["sudo", "-n"] : undefined;
}

export function asRoot(prefix: string[], command: [string, ...string[]]): [string, ...string[]] {
  return [...prefix, ...command] as [string, ...string[]];
}

function onLines(stream: Readable, onLine: Log): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split(/[\r\n]+/);
    rest = lines.pop() ?? "";
    for (const line of lines) if (line) onLine(line);
  });
  stream.on("end", () => rest && onLine(rest));
}
