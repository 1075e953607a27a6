/** @module `sandbar view`: the debugging files that a BIND session leaves in its folder. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
} from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { cli } from "../invocation/global-options.ts";
import { number } from "../invocation/option-values.ts";
import { bold, clean, printJson, size } from "../terminal/print.ts";

const READ_LIMIT_BYTES = 32 * 1024 * 1024;
const BLOCK_LINES = 20;

interface ViewFlags {
  limit: number;
  state: boolean;
  artifacts: boolean;
  root?: string;
  output?: string;
}

/** A line of session.log, as agent-host writes it; fields may be missing in what an older one wrote. */
interface LogEntry {
  time?: string;
  execution_id?: string;
  context?: string;
  language?: string;
  code?: string;
  status?: string;
  duration_ms?: number | null;
  stdout?: string;
  stderr?: string;
  result?: string | null;
  error?: { name: string; value: string; traceback: string } | null;
  exit_code?: number | null;
  artifacts?: { id: string; name: string; size: number }[];
  artifacts_skipped?: { name: string; reason: string }[];
  unreadable?: string;
}

export function addView(program: Command): void {
  program
    .command("view <session-or-folder>")
    .description("the log, state and artifacts in the folder of a BIND session, by id, key or path")
    .option("--limit <n>", "how many of the last executions to show", number, 20)
    .option("--no-state", "leave out the variables")
    .option("--no-artifacts", "leave out the artifacts")
    .option("--root <folder>", "where session folders are (env SANDBAR_SESSIONS_ROOT or SESSIONS_ROOT)")
    .action(async (reference: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ViewFlags>();
      const folder = await sessionFolder(reference, command);
      const view = readSessionFolder(folder, flags);
      if (flags.output === "json") printJson(view);
      else process.stdout.write(render(view));
    });
}

async function sessionFolder(reference: string, command: Command): Promise<string> {
  const { root } = command.optsWithGlobals<ViewFlags>();
  const candidates = candidatesFor(reference, root);
  const found = candidates.find(isSessionFolder) ?? (await folderOfKey(reference, command));
  if (!found)
    throw new UsageError(
      `no session folder ${reference}; only BIND sessions have one, on their host. Looked in ${candidates.map((path) => resolve(path)).join(", ")}`,
    );
  return found;
}

/** Folders are named by id. The folder outlives control plane and session, so asking which id has a key may fail. */
async function folderOfKey(key: string, command: Command): Promise<string | undefined> {
  const { root } = command.optsWithGlobals<ViewFlags>();
  const sessions = await cli(command)
    .client.sessions({ key })
    .all()
    .catch(() => []);
  return sessions.flatMap(({ id }) => candidatesFor(id, root)).find(isSessionFolder);
}

function candidatesFor(name: string, root?: string): string[] {
  const home = process.env.SANDBAR_HOME ?? ".sandbar";
  const { SANDBAR_SESSIONS_ROOT, SESSIONS_ROOT } = process.env;
  const roots = [root, SANDBAR_SESSIONS_ROOT, SESSIONS_ROOT, join(home, "sessions"), "sessions"];
  return [name, ...roots.filter((path) => path !== undefined).map((path) => join(path, name))];
}

function isSessionFolder(path: string): boolean {
  return existsSync(join(path, "session.log")) || existsSync(join(path, "session_metadata.json"));
}

export function readSessionFolder(folder: string, options: Pick<ViewFlags, "limit" | "state" | "artifacts">) {
  const lines = readText(join(folder, "session.log"))
    .split("\n")
    .filter((line) => line.trim() !== "");
  const entries = lines.slice(-options.limit).map((line): LogEntry => {
    try {
      return JSON.parse(line);
    } catch {
      // The last line may be half written while the session runs.
      return { unreadable: line };
    }
  });
  return {
    folder: resolve(folder),
    metadata: readJson(join(folder, "session_metadata.json")),
    total: lines.length,
    entries,
    state: options.state ? readJson(join(folder, "python_state.json")) : null,
    artifacts: options.artifacts ? listFolder(join(folder, "artifacts")) : null,
    kept: options.artifacts ? entries.flatMap(({ artifacts }) => artifacts ?? []) : [],
  };
}

function render(view: ReturnType<typeof readSessionFolder>): string {
  const out: string[] = [bold(view.folder)];
  for (const [name, value] of Object.entries(view.metadata ?? {})) out.push(`  ${name}: ${short(value)}`);
  out.push("", bold(`Executions (${view.entries.length} of ${view.total})`));
  for (const entry of view.entries) out.push(...renderEntry(entry));
  if (view.state) {
    out.push("", bold("State"));
    for (const [name, value] of Object.entries(view.state)) out.push(`  ${name}: ${short(value)}`);
  }
  if (view.artifacts) {
    out.push("", bold("Artifacts"));
    for (const { id, name, size: bytes } of view.kept)
      out.push(`  ${clean(name)}  ${size(bytes)}  ${clean(id)}`);
    for (const { name, bytes } of view.artifacts) out.push(`  ${clean(name)}  ${size(bytes)}  in the folder`);
    if (view.kept.length + view.artifacts.length === 0) out.push("  none");
  }
  return `${out.join("\n")}\n`;
}

function renderEntry(entry: LogEntry): string[] {
  if (entry.unreadable !== undefined) return [`- ${short(entry.unreadable)}`];
  const { time, status, duration_ms, language, context, execution_id, error } = entry;
  const duration = duration_ms === null || duration_ms === undefined ? null : `${duration_ms} ms`;
  const head = [time, status, duration, language, context, execution_id].filter((part) => part != null);
  return [
    `- ${head.map(short).join("  ")}`,
    ...block(">>> ", entry.code),
    ...block("    ", entry.stdout),
    ...block("  ! ", entry.stderr),
    ...block("  = ", entry.result),
    ...block("  ! ", error && (error.traceback || `${error.name}: ${error.value}`)),
    ...(entry.exit_code ? [`    exit code ${entry.exit_code}`] : []),
    ...(entry.artifacts_skipped ?? []).map(
      ({ name, reason }) => `    not kept: ${clean(name)}: ${clean(reason)}`,
    ),
  ];
}

function block(mark: string, text: string | null | undefined): string[] {
  if (!text) return [];
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => mark + clean(line));
  return lines.length > BLOCK_LINES
    ? [...lines.slice(0, BLOCK_LINES), `${mark}… ${lines.length - BLOCK_LINES} more lines`]
    : lines;
}

function short(value: unknown): string {
  const text = clean(typeof value === "string" ? value : JSON.stringify(value));
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

function listFolder(folder: string): { name: string; bytes: number }[] {
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { name: path.slice(join(folder, "/").length), bytes: lstatSync(path).size };
    });
}

/** The end of a file. The sandbox owns the folder: what is no plain file, or leads elsewhere, is not read. */
function readText(path: string): string {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`);
  }
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw new UsageError(`${path} is not a plain file`);
    const bytes = Buffer.alloc(Math.min(status.size, READ_LIMIT_BYTES));
    const read = readSync(file, bytes, 0, bytes.length, status.size - bytes.length);
    return bytes.toString("utf8", 0, read);
  } finally {
    closeSync(file);
  }
}

function readJson(path: string): Record<string, unknown> | null {
  const text = readText(path);
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return { unreadable: path };
  }
}
