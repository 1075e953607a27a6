/**
 * What runs boxes on this host. Sessions, executions and the pool know this much of it and no more; which engine there is,
 * only the daemon knows.
 *
 * @module
 */
import type { Capability, EngineName, Isolation, Language, SessionSpec } from "@sandbar/shared";
import type { Box, BoxOptions } from "./box.ts";

/** A sandbox of this host that the engine knows of, whoever started it. */
export interface FoundSandbox {
  /** The engine's own id. */
  readonly id: string;
  /** Empty for one that was made for the pool. */
  readonly session: string;
  readonly box: string;
  readonly running: boolean;
  readonly createdAt: number;
}

export interface DeathListener {
  onDeath(sandbox: string): void;
  /** Deaths are heard of from here on (again): those before were not. */
  onResync(): void;
}

/** Storage of tenants on this host that outlives sessions. */
export interface HostVolumes {
  /** Bytes in use, by name, of those that are here. */
  sizes(tenant: string): Promise<Record<string, number>>;
  /** False when there was no such volume; refuses while a sandbox has it. */
  remove(tenant: string, name: string): Promise<boolean>;
}

export interface Engine {
  readonly name: EngineName;
  /** What its sessions can do on this host. */
  readonly capabilities: readonly Capability[];
  /** What stands between its sessions and this host, where there is a choice. */
  readonly isolation?: Isolation;
  /** Whether a session's own folder and datasets can be given to a box that runs. */
  readonly lateMounts: boolean;
  /** Null where sessions can have none. */
  readonly volumes: HostVolumes | null;

  /** Waits until it answers, and puts in order what an earlier daemon left. */
  start(): Promise<void>;
  /** Nothing of this host runs any more: takes away what all boxes shared. */
  clearAway(): Promise<void>;

  /** Away with whatever is only kept to be quicker, and nobody uses now: the disk is nearly full. */
  trimCaches(): Promise<void>;

  /** Those whose sessions could be made right now. */
  runtimes(): Promise<Language[]>;
  /** What such a session runs in, as its user knows it; throws what the user should read when this host does not allow it. */
  imageOf(spec: SessionSpec): string;
  /** Changes with everything that a box is made of; null when it could not be made now. */
  fingerprint(spec: SessionSpec, key: string): Promise<string | null>;
  box(options: BoxOptions): Box;

  list(): Promise<FoundSandbox[]>;
  /** Null while it runs; otherwise why it does not. */
  deathOf(sandbox: string): Promise<string | null>;
  /** Whether it runs or not, and also when there is none. */
  remove(sandbox: string): Promise<void>;
  followDeaths(listener: DeathListener, signal: AbortSignal): void;
}
