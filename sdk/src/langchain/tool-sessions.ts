/** @module Which session a tool call works in: by default one per LangGraph thread. */
import type { ToolRunnableConfig } from "@langchain/core/tools";
import { Sandbar, type SessionOptions } from "../client.ts";
import { engineNotice } from "../engine-notice.ts";
import { SandbarError } from "../errors.ts";
import type { Session } from "../session.ts";

export interface SandboxToolOptions {
  /** Default: `Sandbar.fromEnv()`. */
  client?: Sandbar;
  /** What a new session is like: runtime, engine, storage, datasets, network, limits. */
  session?: Omit<SessionOptions, "key">;
  /** The key of the session that a call works in. Default: `configurable.thread_id`. */
  sessionKey?: string | ((config: ToolRunnableConfig) => string | Promise<string>);
  name?: string;
  description?: string;
}

/** What a tool learns about its session besides its answer. */
export interface InSession<T> {
  session: Session;
  value: T;
  /** Set when a fresh session took the place of one that has ended, and when the session is not what one expects. */
  notice: string | null;
}

const NOTICE = "The earlier session had ended. This is a new one: its variables and files are gone.";

export class ToolSessions {
  readonly #options: SandboxToolOptions;
  #client: Sandbar | undefined;
  readonly #known = new Map<string, Session>();

  constructor(options: SandboxToolOptions) {
    this.#options = options;
    this.#client = options.client;
  }

  /** Works in the call's session; when that has ended, in a new one, and says so. */
  async use<T>(config: ToolRunnableConfig, work: (session: Session) => Promise<T>): Promise<InSession<T>> {
    const key = await this.#key(config);
    const known = this.#known.get(key);
    if (known)
      try {
        return { session: known, value: await work(known), notice: null };
      } catch (error) {
        if (!(error instanceof SandbarError && hasEnded(error))) throw error;
        this.#known.delete(key);
      }
    this.#client ??= Sandbar.fromEnv();
    const session = await this.#client.session({ ...this.#options.session, key });
    this.#known.set(key, session);
    const notices = [
      known && known.id !== session.id ? NOTICE : null,
      // Whoever asked for it by name has it in the tool's description.
      this.#options.session?.engine === "wasm" ? null : engineNotice(session.info.engine),
    ].filter((notice) => notice !== null);
    return { session, value: await work(session), notice: notices.join(" ") || null };
  }

  async #key(config: ToolRunnableConfig): Promise<string> {
    const { sessionKey } = this.#options;
    const key =
      typeof sessionKey === "function"
        ? await sessionKey(config)
        : (sessionKey ?? (config.configurable?.thread_id as string | undefined));
    if (!key)
      throw new Error(
        "No session key: invoke the graph with {configurable: {thread_id}}, or give the tool a sessionKey.",
      );
    return String(key);
  }
}

// The session itself: a missing file answers 404 as well, but with a detail of its own kind of path.
function hasEnded(error: SandbarError): boolean {
  return error.code === "SESSION_ENDED" || (error.code === "NOT_FOUND" && /session/i.test(error.message));
}
