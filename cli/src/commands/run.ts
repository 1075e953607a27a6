/** @module `sandbar run` and `sandbar sh`. */
import { fstatSync, readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { text } from "node:stream/consumers";
import { quote, type Session } from "@sandbar/sdk";
import type { Language } from "@sandbar/shared";
import { type Command, Option } from "commander";
import { exitCodeOf } from "../invocation/exit-codes.ts";
import { UsageError } from "../invocation/explain.ts";
import {
  addSessionFlags,
  type Cli,
  cli,
  type SessionFlags,
  sessionFor,
} from "../invocation/global-options.ts";
import { number, pair } from "../invocation/option-values.ts";
import { withoutTypes } from "../invocation/typescript-source.ts";
import { interruptible, showLive } from "../terminal/live.ts";
import { dim, printJson } from "../terminal/print.ts";
import { progressBar } from "../terminal/progress.ts";
import { uploadFolder } from "./cp.ts";

const LANGUAGES: Record<string, Language> = {
  ".py": "python",
  ".js": "node",
  ".mjs": "node",
  ".ts": "node",
  ".mts": "node",
  ".r": "r",
  ".sh": "bash",
};

const TYPESCRIPT = new Set([".ts", ".mts"]);

interface RunFlags extends SessionFlags {
  code?: string;
  context?: string;
  language?: Language;
  env?: Record<string, string>;
  stdin?: boolean;
  saveImages?: boolean;
  with?: string;
}

export function addRun(program: Command): void {
  const run = program
    .command("run [file]")
    .description("run a file, or standard input (-); exits with the code's own status")
    .option("-c, --code <code>", "run this instead of a file")
    .addOption(
      new Option(
        "-l, --language <language>",
        "language (default: by the file's name, or the session's)",
      ).choices(["python", "node", "r", "bash"]),
    );
  options(run).action(async (file: string | undefined, flags: RunFlags, command: Command) => {
    const code = flags.code ?? (await source(file));
    const language = flags.language ?? (file ? LANGUAGES[extname(file).toLowerCase()] : undefined);
    await execute(cli(command), code, { ...flags, language });
  });

  options(
    program
      .command("sh <command...>")
      .description("run a shell command; one argument is taken as shell text, several as one command's words")
      .option("--stdin", "pass standard input to the command, whatever it is (default: a pipe or a file)")
      .option("--no-stdin", "leave standard input alone"),
  )
    .passThroughOptions()
    .action(async (words: string[], flags: RunFlags, command: Command) => {
      const code = words.length === 1 ? words[0]! : words.map(quote).join(" ");
      const stdin = flags.stdin ?? isPipeOrFile();
      await execute(cli(command), code, { ...flags, stdin, language: "bash" });
    });
}

function options(command: Command): Command {
  return addSessionFlags(command)
    .option("--keep", "keep a session that was made for this")
    .option("--with <folder>", "copy what is in this folder to /session first, so that sibling imports work")
    .option("--save-images", "save figures as image-1.png and so on in this folder")
    .option("-t, --timeout <seconds>", "time limit of this run", number)
    .option("--context <name>", "kernel to run in")
    .option("-e, --env <NAME=VALUE>", "environment variable, repeatable", pair);
}

async function execute(context: Cli, code: string, flags: RunFlags): Promise<void> {
  // A throw-away session speaks the code's language; a kept one may speak several.
  const runtime = flags.runtime ?? (flags.session || flags.language === "bash" ? undefined : flags.language);
  const { session, done, kept } = await sessionFor(context, flags, runtime);
  if (kept) process.stderr.write(`${dim(`session ${session.id}`)}\n`);
  try {
    if (flags.with !== undefined) await bringFolder(session, flags.with);
    const stream = session.stream(code, {
      language: flags.language,
      context: flags.context,
      timeoutS: flags.timeout,
      env: flags.env,
      stdin: flags.stdin ? await text(process.stdin) : undefined,
    });
    if (context.output === "json") {
      const execution = await interruptible(stream, () => stream.finished());
      printJson(execution);
      process.exitCode = exitCodeOf(execution);
    } else process.exitCode = exitCodeOf(await showLive(stream, flags));
  } finally {
    await done();
  }
}

/** Made anew in a session where they are needed, and often larger than all the rest. */
const LEFT_OUT = [".git", "node_modules", "__pycache__", ".venv"];

async function bringFolder(session: Session, folder: string): Promise<void> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--with ${folder}: there is no such folder`);
  await uploadFolder(session, folder, "/session", progressBar(folder), LEFT_OUT);
}

/** Programs that start this one often leave it an open socket that never ends; a shell's pipe is a pipe. */
function isPipeOrFile(): boolean {
  try {
    const stdin = fstatSync(0);
    return stdin.isFIFO() || stdin.isFile();
  } catch {
    // Closed.
    return false;
  }
}

async function source(file: string | undefined): Promise<string> {
  if (file === "-" || (file === undefined && !process.stdin.isTTY)) return text(process.stdin);
  if (file === undefined) throw new UsageError("give a file, - for standard input, or --code");
  let code: string;
  try {
    code = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
  return TYPESCRIPT.has(extname(file).toLowerCase()) ? withoutTypes(file, code) : code;
}
