/** @module What the engine starts a guest with, as JSON, its only argument. */
import type { Egress } from "../../src/io/reach.ts";
import type { Mount } from "../kernel/wire.ts";

export interface GuestStart {
  /** The daemon's socket. */
  readonly socket: string;
  /** Where the guest makes the socket of its kernels. */
  readonly kernels: string;
  readonly deno: string;
  /** What Deno keeps of programs that it has read; sessions cannot write to it. */
  readonly denoDir: string;
  /** The folder of the kernel's program. */
  readonly program: string;
  readonly pyodide: string;
  readonly lockInfo: unknown;
  readonly package: string;
  /** Null only to make one. */
  readonly snapshot: string | null;
  readonly mounts: readonly Mount[];
  /** Made before anybody wanted it. */
  readonly pooled: boolean;
  readonly memoryMb: number;
  /** Where nobody else bounds the folders. */
  readonly storageMb: number | null;
  /** The session's own cgroup, which then bounds memory; null where there is none. */
  readonly cgroup: string | null;
  /** Null for a session without network. */
  readonly egress: Egress | null;
  /** Without a daemon for so long it ends. */
  readonly awayMs: number;
}
