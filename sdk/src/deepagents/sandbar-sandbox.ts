/** @module A deepagents backend: its shell and its files are a Sandbar session. */
import {
  BaseSandbox,
  type ExecuteResponse,
  type FileDownloadResponse,
  type FileUploadResponse,
  type GrepMatch,
  type GrepResult,
  SandboxError,
} from "deepagents";
import { Sandbar, type SessionOptions } from "../client.ts";
import { SandbarError } from "../errors.ts";
import { quote } from "../quote.ts";
import type { Session } from "../session.ts";
import { fileError } from "./file-error.ts";
import { OutputCollector } from "./output-collector.ts";
import { endedWithSession, saysSessionEnded } from "./session-end.ts";
import { Shells } from "./shells.ts";

export interface SandbarSandboxOptions {
  /** Default: `Sandbar.fromEnv()`. */
  client?: Sandbar;
  /** Time limit of each command. Default 1800. */
  timeoutS?: number;
  /** Characters of output kept of one command. Default 4 Mi, which is also what Sandbar streams at most. */
  maxOutputChars?: number;
  /** Where commands start. Default /session. */
  cwd?: string;
  /** Commands that may run at once; more wait. Default 4. */
  concurrency?: number;
}

export interface CreateOptions extends SandbarSandboxOptions {
  session?: SessionOptions;
  /** Files that are there before anything runs, by path; relative ones below `cwd`. A session in use stays as it is. */
  initialFiles?: Record<string, string | Uint8Array>;
}

const TRANSFERS_AT_ONCE = 4;
const ENDED = new Set(["stopping", "stopped", "lost", "failed"]);

/** Each command starts in a fresh shell at `cwd`: directory and variables do not carry over, as in deepagents' other backends. */
export class SandbarSandbox extends BaseSandbox {
  readonly session: Session;
  readonly #timeoutS: number;
  readonly #maxOutputChars: number;
  readonly #cwd: string;
  readonly #shells: Shells;
  #ended = false;

  constructor(session: Session, options: Omit<SandbarSandboxOptions, "client"> = {}) {
    super();
    this.session = session;
    this.#timeoutS = options.timeoutS ?? 1800;
    this.#maxOutputChars = options.maxOutputChars ?? 4 * 1024 * 1024;
    this.#cwd = options.cwd ?? "/session";
    this.#shells = new Shells(options.concurrency ?? 4);
  }

  /** A session of its own; `close` ends it. */
  static async create(options: CreateOptions = {}): Promise<SandbarSandbox> {
    const client = options.client ?? Sandbar.fromEnv();
    const session = await client.session(options.session);
    const sandbox = new SandbarSandbox(session, options);
    // The answer's status would not do: when it is lost on its way, the next try finds a session that is new all the same.
    const unused = session.info.last_used_at === session.info.created_at;
    if (unused && options.initialFiles) await sandbox.#begin(options.initialFiles);
    return sandbox;
  }

  /** A session that exists. */
  static async fromId(id: string, options: SandbarSandboxOptions = {}): Promise<SandbarSandbox> {
    const client = options.client ?? Sandbar.fromEnv();
    return new SandbarSandbox(await client.getSession(id), options);
  }

  /** The session with this key (a thread id, say), made if it does not exist. */
  static fromKey(key: string, options: CreateOptions = {}): Promise<SandbarSandbox> {
    return SandbarSandbox.create({ ...options, session: { ...options.session, key } });
  }

  override get id(): string {
    return this.session.id;
  }

  /** False once it was closed, or an answer has said that the session is over. */
  get isRunning(): boolean {
    return !this.#ended && !ENDED.has(this.session.info.status);
  }

  override async execute(
    command: string,
    options: { timeoutS?: number; signal?: AbortSignal } = {},
  ): Promise<ExecuteResponse> {
    const timeoutS = options.timeoutS ?? this.#timeoutS;
    const output = new OutputCollector(this.#maxOutputChars);
    // A subshell with no input: what the command changes, and what it waits for, ends with it.
    const code = `(cd -- ${quote(this.#cwd)} && eval ${quote(command)}) </dev/null`;
    try {
      const execution = await this.#shells.use((context) =>
        this.session.sh(code, {
          context,
          timeoutS,
          signal: options.signal,
          onStdout: (text) => output.add("stdout", text),
          onStderr: (text) => output.add("stderr", text),
        }),
      );
      if (endedWithSession(execution)) this.#ended = true;
      return output.response(execution, timeoutS);
    } catch (error) {
      this.#notice(error);
      if (!(error instanceof SandbarError)) throw error;
      throw new SandboxError(
        `${error.message}${error.hint ? ` ${error.hint}` : ""}`,
        "COMMAND_FAILED",
        error,
      );
    }
  }

  override uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return inTurns(files, async ([path, content]) => {
      const error = await this.#orCode(path, () => this.session.files.write(path, content));
      return { path, error: typeof error === "string" ? error : null };
    });
  }

  override downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return inTurns(paths, async (path) => {
      const answer = await this.#orCode(path, async () => {
        const { type, body } = await this.session.files.open(path);
        if (type === "file") return new Uint8Array(await new Response(body).arrayBuffer());
        await body.cancel();
        return "is_directory" as const;
      });
      return typeof answer === "string"
        ? { path, content: null, error: answer }
        : { path, content: answer, error: null };
    });
  }

  /** Like the one it replaces, but file names may hold a colon. */
  override async grep(
    pattern: string,
    path = "/",
    glob: string | null = null,
    maxCount: number | null = null,
  ): Promise<GrepResult> {
    const named = glob ? `-name ${quote(glob)} ` : "";
    const { output } = await this.execute(
      `find ${quote(path)} \\( -path /proc -o -path /sys -o -path /dev \\) -prune -o -type f ${named}-print0 2>/dev/null | ` +
        `xargs -0r grep -HnFIZ -e ${quote(pattern)} -- 2>/dev/null || true`,
    );
    const matches: GrepMatch[] = [];
    for (const line of output.split("\n")) {
      const [, file, number, text] = /^([^\0]+)\0(\d+):(.*)$/s.exec(line) ?? [];
      if (file === undefined) continue;
      if (maxCount !== null && matches.length >= maxCount) return { matches, truncated: true };
      matches.push({ path: file, line: Number(number), text: text! });
    }
    return { matches };
  }

  /** Ends the session. */
  async close(): Promise<void> {
    await this.session.stop();
    this.#ended = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin(files: Record<string, string | Uint8Array>): Promise<void> {
    const entries = Object.entries(files).map(([path, content]): [string, Uint8Array] => [
      path.startsWith("/") ? path : `${this.#cwd}/${path}`,
      typeof content === "string" ? new TextEncoder().encode(content) : content,
    ]);
    try {
      for (const { path, error } of await this.uploadFiles(entries))
        if (error) throw new SandboxError(`${path}: ${error}`, "FILE_OPERATION_FAILED");
    } catch (error) {
      // With some of its files it would pass for one in use.
      await this.close().catch(() => {});
      throw error;
    }
  }

  #notice(error: unknown): void {
    if (saysSessionEnded(error)) this.#ended = true;
  }

  async #orCode<T>(path: string, work: () => Promise<T>) {
    if (!path.startsWith("/") || path.includes("\0")) return "invalid_path" as const;
    try {
      return await work();
    } catch (error) {
      this.#notice(error);
      const code = fileError(error);
      if (code) return code;
      const detail = error instanceof Error ? error.message : String(error);
      throw new SandboxError(`${path}: ${detail}`, "FILE_OPERATION_FAILED", error as Error);
    }
  }
}

async function inTurns<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index]!);
  };
  await Promise.all(Array.from({ length: Math.min(TRANSFERS_AT_ONCE, items.length) }, worker));
  return results;
}
