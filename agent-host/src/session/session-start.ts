/**
 * How a session comes to be: in a box of the pool that is fitted to it, or in one made for it; until its first kernel is ready.
 *
 * @module
 */
import {
  type ContextReport,
  type Failure,
  failureOf,
  type GuestMessage,
  SandbarError,
} from "@sandbar/shared";
import { codeEnv } from "../egress/code-env.ts";
import type { Box } from "../engine/box.ts";
import type { Engine } from "../engine/engine.ts";
import type { GuestHello } from "../guest/guest-channel.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Journal, SessionRow } from "../journal/journal.ts";
import type { PooledBox } from "../pool/pooled-box.ts";
import type { SnapshotSession } from "../snapshots/snapshot-calls.ts";
import type { SnapshotRestore } from "../snapshots/snapshot-restore.ts";
import { checkLimits } from "./limit-check.ts";
import type { SessionGuest } from "./session-guest.ts";
import type { SessionReports } from "./session-reports.ts";
import { SessionRestore } from "./session-restore.ts";

const NAME_AFTER_MS = 1000;
/** Longer than the guest gives its kernels. */
const ENTER_MS = 10_000;

export interface SessionStartOptions {
  readonly row: SessionRow;
  readonly config: Pick<Config, "maxima" | "startTimeoutMs">;
  readonly journal: Pick<Journal, "saveSession">;
  readonly engine: Pick<Engine, "imageOf" | "remove">;
  readonly guest: SessionGuest;
  readonly reports: SessionReports;
  readonly snapshots: Pick<SnapshotRestore, "restore">;
  readonly access: SnapshotSession;
  readonly log: Log;
  makeBox(): Box;
  /** Of a session with rules: certificates that its code trusts. */
  giveTrust(): Promise<void>;
  openContext(context: string, language: string): void;
  onReady(started: Started): void;
  onFailed(failure: Failure): Promise<void>;
}

export interface Started {
  readonly hello: GuestHello;
  readonly image: string;
  /** In a box of the pool, whose contexts nobody has heard of yet. */
  readonly claimed: boolean;
  /** What became of the variables of a snapshot. */
  readonly restored?: ContextReport[];
}

export class SessionStart {
  readonly #options: SessionStartOptions;
  readonly #abort = new AbortController();
  /** Set while the box is on its way to its first ready kernel. */
  #ready: PromiseWithResolvers<GuestHello> | null = null;
  #settled: Promise<void> = Promise.resolve();
  /** Set while a snapshot is on its way into it. */
  #restore: SessionRestore | null = null;

  constructor(options: SessionStartOptions) {
    this.#options = options;
  }

  get pending(): boolean {
    return this.#ready !== null || this.#restore !== null;
  }

  /** Resolves when it is ready, has failed or was aborted; at once for a session that an earlier daemon has started. */
  get settled(): Promise<void> {
    return this.#settled;
  }

  /** In a box of the pool, which is this session's from now on, or in one made for it. */
  create(pooled: PooledBox | null): void {
    const { guest } = this.#options;
    if (pooled) guest.livesIn(pooled.box);
    this.#begin(() => this.#run(pooled));
  }

  /** An earlier daemon began; no code has run in it yet, so the clean way is from the start. */
  recreate(leftovers: readonly string[]): void {
    const { engine, makeBox } = this.#options;
    // What is cleared away here is not a death that concerns the new box.
    this.#saveSandbox(null);
    this.#begin(async () => {
      for (const sandbox of leftovers) await engine.remove(sandbox);
      await makeBox().destroy();
      return this.#run(null);
    });
  }

  /** The session is to stop. */
  abort(reason: Error): void {
    this.#abort.abort(reason);
    this.#restore?.fail(reason);
  }

  #begin(work: () => Promise<Started>): void {
    const { log, onReady, onFailed } = this.#options;
    this.#settled = work()
      .then(onReady)
      .catch(async (error) => {
        if (this.#abort.signal.aborted) return;
        log.warn({ err: error }, "session could not be started");
        await onFailed(failureOf(error, "SESSION_START_FAILED"));
      });
  }

  async #run(pooled: PooledBox | null): Promise<Started> {
    const { row, config, engine } = this.#options;
    checkLimits(config, row.spec);
    const image = engine.imageOf(row.spec);
    try {
      const started = (pooled && (await this.#claim(pooled, image))) ?? (await this.#make(image));
      return row.spec.restore ? await this.#restored(started) : started;
    } finally {
      this.#ready = null;
      this.#restore = null;
    }
  }

  async #make(image: string): Promise<Started> {
    const { config, guest, reports, log, makeBox, giveTrust } = this.#options;
    const { signal } = this.#abort;
    const box = makeBox();
    guest.livesIn(box);
    await giveTrust();
    this.#ready = this.#awaitReady();
    await box.make({
      signal,
      step: (name, detail) => reports.progress(name, detail),
      onSandbox: (sandbox) => this.#saveSandbox(sandbox),
    });
    const timer = setTimeout(() => this.#ready?.reject(this.#tooSlow()), config.startTimeoutMs);
    const hello = await this.#ready.promise.finally(() => clearTimeout(timer));
    signal.throwIfAborted();
    log.info({ image, ms: reports.stepTimes() }, "session ready");
    return { hello, image, claimed: false };
  }

  /** The journal says already that the box is ours; null when it turns out to be of no use. */
  async #claim(pooled: PooledBox, image: string): Promise<Started | null> {
    const { row, guest, log, giveTrust } = this.#options;
    const { signal } = this.#abort;
    const began = performance.now();
    this.#ready = this.#awaitReady();
    guest.takeOver(pooled);
    const fitted = pooled.box.fit(row.id, row.spec);
    const entered = fitted.then(async (check) => {
      // Guest and kernel are still in the folder that was covered.
      if (check) check(await guest.call("session.enter", {}, ENTER_MS));
    });
    try {
      await giveTrust();
      await Promise.race([entered, this.#ready.promise.then(() => entered)]);
      signal.throwIfAborted();
      if (!guest.hello) throw new Error("the guest is away");
    } catch (error) {
      // Nothing may be on its way into a box that is about to be removed.
      await fitted.catch(() => {});
      signal.throwIfAborted();
      log.warn({ err: error }, "a box of the pool was of no use; making one");
      guest.leave("its box was of no use");
      await pooled.box.destroy();
      this.#saveSandbox(null);
      return null;
    }
    this.giveEnv();
    log.info({ image, ms: Math.round(performance.now() - began) }, "session ready, from the pool");
    // The engine takes its time over it, which belongs to the first cells of all that are claimed together.
    setTimeout(() => void this.#name(pooled.box), NAME_AFTER_MS);
    const ready = { context: row.context, language: row.spec.runtime, state: "ready" as const };
    return { hello: { ...guest.hello, contexts: [ready], executions: [] }, image, claimed: true };
  }

  async #restored(started: Started): Promise<Started> {
    const { row, config, reports, snapshots, access, log, openContext } = this.#options;
    const { signal } = this.#abort;
    const began = performance.now();
    this.#restore = new SessionRestore(row.context, {
      snapshots,
      session: access,
      timeoutMs: config.startTimeoutMs,
      openContext,
      step: (detail) => reports.progress("restore", detail),
    });
    const restored = await this.#restore.restore(started.hello.languages, signal);
    signal.throwIfAborted();
    log.info({ ms: Math.round(performance.now() - began) }, "snapshot restored");
    const opened = restored.map(({ name: context, language }) => ({
      context,
      language,
      state: "ready" as const,
    }));
    return { ...started, hello: { ...started.hello, contexts: opened }, restored };
  }

  /** A kernel that ran before its session was known hears the session's environment once; the guest ignores a second time. */
  giveEnv(): void {
    const { row, guest } = this.#options;
    const env = codeEnv(row.spec);
    if (Object.keys(env).length) guest.send({ type: "context.env", context: row.context, env });
  }

  onHello(hello: GuestHello): void {
    const { row, reports, openContext } = this.#options;
    const { runtime } = row.spec;
    if (hello.languages.includes(runtime)) {
      reports.progress("kernel", runtime);
      openContext(row.context, runtime);
    } else this.#ready?.reject(new SandbarError("IMAGE_UNSUPPORTED", `the image cannot run ${runtime}`));
  }

  onContext(message: Extract<GuestMessage, { type: "context" }>): void {
    const { row, guest } = this.#options;
    this.#restore?.onContext(message);
    if (message.context !== row.context) return;
    if (message.state === "ready" && guest.hello) this.#ready?.resolve(guest.hello);
    if (message.state === "dead")
      this.#ready?.reject(
        new SandbarError("SESSION_START_FAILED", message.detail || "the kernel ended at its start"),
      );
  }

  died(reason: string): void {
    const { row, guest } = this.#options;
    // Log drivers are off, so an image of somebody else's that never said hello gets the likeliest explanation.
    const error =
      row.spec.image && !guest.hello
        ? new SandbarError("IMAGE_UNSUPPORTED", `the image's python3 could not run the guest (${reason})`)
        : new SandbarError("SESSION_START_FAILED", `the container ended at its start: ${reason}`);
    this.#ready?.reject(error);
    this.#restore?.fail(error);
  }

  #awaitReady(): PromiseWithResolvers<GuestHello> {
    const { signal } = this.#abort;
    const ready = Promise.withResolvers<GuestHello>();
    // It may be rejected before anybody waits for it.
    ready.promise.catch(() => {});
    signal.addEventListener("abort", () => ready.reject(signal.reason), { once: true });
    return ready;
  }

  #tooSlow(): SandbarError {
    const { row, config, guest } = this.#options;
    const what = guest.hello ? `the ${row.spec.runtime} kernel was not ready` : "the guest did not answer";
    const seconds = config.startTimeoutMs / 1000;
    return new SandbarError("SESSION_START_FAILED", `${what} within ${seconds} s`);
  }

  #saveSandbox(sandbox: string | null): void {
    const { row, journal } = this.#options;
    row.sandbox = sandbox;
    journal.saveSession(row);
  }

  async #name(box: Box): Promise<void> {
    const { row, log } = this.#options;
    if (row.state !== "ready") return;
    try {
      await box.nameAfter(row.id);
    } catch (error) {
      if (row.state === "ready") log.warn({ err: error }, "could not name the box after its session");
    }
  }
}
