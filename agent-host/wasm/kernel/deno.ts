/**
 * What is used of Deno's own functions for files. Bound when this is imported: the thread that runs Python has no `Deno`
 * afterwards, and Deno's node:fs would look for it with each call.
 *
 * @module
 */

export interface FileInfo {
  readonly dev: number;
  readonly ino: number | null;
  readonly nlink: number | null;
  readonly uid: number | null;
  readonly gid: number | null;
  readonly rdev: number | null;
  readonly size: number;
  readonly mode: number | null;
  readonly atime: Date | null;
  readonly mtime: Date | null;
  readonly ctime: Date | null;
  readonly blksize: number | null;
  readonly blocks: number | null;
}

export interface DenoFile {
  readSync(into: Uint8Array): number | null;
  writeSync(from: Uint8Array): number;
  seekSync(offset: number, whence: number): number;
  statSync(): FileInfo;
  truncateSync(size: number): void;
  close(): void;
}

interface OpenOptions {
  read?: boolean;
  write?: boolean;
  append?: boolean;
  truncate?: boolean;
  createNew?: boolean;
  mode?: number;
}

interface DenoFs {
  lstatSync(path: string): FileInfo;
  chmodSync(path: string, mode: number): void;
  truncateSync(path: string, size: number): void;
  utimeSync(path: string, atime: Date, mtime: Date): void;
  mkdirSync(path: string, options: { mode: number }): void;
  openSync(path: string, options: OpenOptions): DenoFile;
  renameSync(from: string, to: string): void;
  removeSync(path: string): void;
  readDirSync(path: string): Iterable<{ name: string }>;
  readLinkSync(path: string): string;
  readFileSync(path: string): Uint8Array<ArrayBuffer>;
}

const { Deno } = globalThis as unknown as { Deno: DenoFs & { build: unknown } };

export const denoFs: DenoFs = {
  lstatSync: Deno.lstatSync,
  chmodSync: Deno.chmodSync,
  truncateSync: Deno.truncateSync,
  utimeSync: Deno.utimeSync,
  mkdirSync: Deno.mkdirSync,
  openSync: Deno.openSync,
  renameSync: Deno.renameSync,
  removeSync: Deno.removeSync,
  readDirSync: Deno.readDirSync,
  readLinkSync: Deno.readLinkSync,
  readFileSync: Deno.readFileSync,
};

/** All that these functions themselves look for. */
export const denoRemains = Object.freeze({ build: Deno.build });
