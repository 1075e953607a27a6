/**
 * What a session lives in, whichever engine made it: something that runs sandboxed, a folder on the host, and a guest at the
 * other end of a socket in that folder.
 *
 * @module
 */
import type { SessionSpec } from "@sandbar/shared";
import type { GuestChannel, GuestChannelOptions } from "../guest/guest-channel.ts";
import type { Log } from "../host/log.ts";

export type BoxListener = Pick<
  GuestChannelOptions,
  "onHello" | "onMessage" | "onDown" | "onProxied" | "onViolations"
>;

export interface BoxOptions {
  readonly id: string;
  /** Null as long as it is in the pool. */
  readonly session: { readonly id: string; readonly tenant: string } | null;
  readonly spec: SessionSpec;
  /** What the guest proves itself with. */
  readonly token: string;
  readonly log: Log;
  readonly listener: BoxListener;
}

export interface Making {
  readonly signal?: AbortSignal;
  step(name: string, detail: string): void;
  /** Must write the sandbox's id down before anything runs in it. */
  onSandbox(id: string): void;
}

/** What a box has used, or uses now. */
export interface BoxUsage {
  /** Since it was made. */
  readonly cpuUs: number;
  /** Without what the kernel would give back at once. */
  readonly memoryBytes: number;
  /** Threads count. */
  readonly processes: number;
  /** In the box's own storage; null when nobody counts. */
  readonly diskBytes: number | null;
}

/** Looks at what the guest found after it has entered /session anew; throws when it is not what was given to the box. */
export type ArrivalCheck = (found: unknown) => void;

export interface Box {
  /** Who hears the guest: the pool until a session claims the box. */
  listener: BoxListener;
  readonly channel: GuestChannel | null;
  /** The engine's own id of what runs in the box, as long as something does. */
  readonly sandbox: string | null;

  /** From nothing to a sandbox that runs, with all that its session needs; the guest dials a moment later. */
  make(making: Making): Promise<void>;

  /** The sandbox runs already, from an earlier daemon: its guest dials again as soon as the socket is back. */
  adopt(sandbox: string, tokenGiven: boolean): Promise<void>;

  /**
   * Gives it to a session while it runs: other limits and folders than it was made with. Throws when that cannot be; null
   * when there is nothing that the guest would have to enter anew.
   */
  fit(session: string, to: SessionSpec): Promise<ArrivalCheck | null>;

  /** So that operators find the session's sandbox by its name. */
  nameAfter(session: string): Promise<void>;

  /** Must be cheap: it is asked of every session every few seconds. Null when nothing runs, or nobody counts. */
  usage(): Promise<BoxUsage | null>;

  /** Everything but a folder that outlives the session goes. May be called again, and for a box that was never made. */
  destroy(): Promise<void>;
}
