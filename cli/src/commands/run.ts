/** @module `sandbar run` and `sandbar sh`. */
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { extname } from "node:path";
import { text } from "node:stream/consumers";
import { quote } from "@sandbar/sdk";
import type { Language } from "@sandbar/shared";
import { type Command, Option } from "commander";
import { exitCodeOf } from "../invocation/exit-codes.ts";
import { UsageError } from "../invocation/explain.ts";
import {
  addSessionFlags,
  type Cli,
  cli,
  number,
  pair,
  type SessionFlags,
  sessionFor,
} from "../invocation/global-options.ts";
import { interruptible, showLive } from "../terminal/live.ts";
import { printJson } from "../terminal/print.ts";

const LANGUAGES: Record<string, Language> = {
  ".py": "python",
  ".js": "node",
  ".mjs": "node",
  ".ts": "node",
  ".r": "r",
  ".sh": "bash",
};

interface RunFlags extends SessionFlags {
  code?: string;
  context?: string;
  language?: Language;
  env?: Record<string, string>;
  stdin?: boolean;
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
      .option("--stdin", "pass standard input to the command"),
  )
    .passThroughOptions()
    .action(async (words: string[], flags: RunFlags, command: Command) => {
      const code = words.length === 1 ? words[0]! : words.map(quote).join(" ");
      await execute(cli(command), code, { ...flags, language: "bash" });
    });
}

function options(command: Command): Command {
  return addSessionFlags(command)
    .option("--keep", "keep a session that was made for this")
    .option("-t, --timeout <seconds>", "time limit of this run", number)
    .option("--context <name>", "kernel to run in")
    .option("-e, --env <NAME=VALUE>", "environment variable, repeatable", pair);
}

async function execute(context: Cli, code: string, flags: RunFlags): Promise<void> {
  // A throw-away session speaks the code's language; a kept one may speak several.
  const runtime = flags.runtime ?? (flags.session || flags.language === "bash" ? undefined : flags.language);
  const { session, done } = await sessionFor(context, flags, runtime);
  try {
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
    } else process.exitCode = exitCodeOf(await showLive(stream));
  } finally {
    await done();
  }
}

async function source(file: string | undefined): Promise<string> {
  if (file === "-" || (file === undefined && !process.stdin.isTTY)) return text(process.stdin);
  if (file === undefined) throw new UsageError("give a file, - for standard input, or --code");
  try {
    const text = readFileSync(file, "utf8");
    return extname(file) === ".ts" ? withoutTypes(text) : text;
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}

/** Lines and columns stay where they are, so errors name the right ones. */
function withoutTypes(code: string): string {
  if (!nodeModule.stripTypeScriptTypes) throw new Error("types are taken out by Node 22.13 or newer");
  // Its warning that it is experimental would stand among the program's own output.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return nodeModule.stripTypeScriptTypes(code);
  } finally {
    process.emitWarning = emitWarning;
  }
}
