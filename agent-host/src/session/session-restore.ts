/** @module The part of a session's start that brings a snapshot into it: kernels of its contexts, and who hears of their readiness. */
import { type ContextReport, type GuestMessage, SandbarError } from "@sandbar/shared";
import type { RestoreInto, SnapshotRestore } from "../snapshots/snapshot-restore.ts";

export interface SessionRestoreOptions {
  readonly snapshots: Pick<SnapshotRestore, "restore">;
  readonly session: RestoreInto["session"];
  readonly timeoutMs: number;
  openContext(context: string, language: string): void;
  step(detail: string): void;
}

export class SessionRestore {
  readonly #options: SessionRestoreOptions;
  readonly #opening = new Map<string, PromiseWithResolvers<void>>();
  readonly #ready: Set<string>;
  readonly #broken = Promise.withResolvers<never>();

  /** `context`: the one whose kernel is ready already. */
  constructor(context: string, options: SessionRestoreOptions) {
    this.#ready = new Set([context]);
    this.#options = options;
    this.#broken.promise.catch(() => {});
  }

  async restore(languages: readonly string[], signal: AbortSignal): Promise<ContextReport[]> {
    const { snapshots, session, step } = this.#options;
    const stopped = new AbortController();
    const stop = () => stopped.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const openContext = (name: string, language: string) => this.#open(name, language);
    try {
      const work = snapshots.restore({ session, languages, signal: stopped.signal, openContext, step });
      work.catch(() => {});
      return await Promise.race([work, this.#broken.promise]);
    } catch (error) {
      stopped.abort(error);
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  onContext({ context, state, detail }: Extract<GuestMessage, { type: "context" }>): void {
    if (state === "ready") {
      this.#ready.add(context);
      this.#opening.get(context)?.resolve();
    }
    if (state === "dead")
      this.#broken.reject(
        new SandbarError(
          "SNAPSHOT_DAMAGED",
          `the kernel of ${context} ended: ${detail || "no reason is known"}`,
        ),
      );
  }

  /** The sandbox is gone, or the session is to stop. */
  fail(error: Error): void {
    this.#broken.reject(error);
  }

  async #open(name: string, language: string): Promise<void> {
    if (this.#ready.has(name)) return;
    const opening = Promise.withResolvers<void>();
    this.#opening.set(name, opening);
    const { timeoutMs, openContext } = this.#options;
    const timer = setTimeout(
      () => opening.reject(new SandbarError("SESSION_START_FAILED", `the ${language} kernel was not ready`)),
      timeoutMs,
    );
    openContext(name, language);
    await opening.promise.finally(() => clearTimeout(timer));
  }
}
