/**
 * Folders of the host as a file system of Emscripten, over Deno's functions, whose permissions decide what can be reached.
 * Nobody can make links in it: for that Deno wants rights to everything.
 *
 * @module
 */
import { type DenoFile, denoFs, type FileInfo } from "./deno.ts";

/** As Emscripten numbers them. */
const ERRNO: Record<string, number> = {
  EACCES: 2,
  EAGAIN: 6,
  EBADF: 8,
  EBUSY: 10,
  EDQUOT: 19,
  EEXIST: 20,
  EFBIG: 22,
  EINVAL: 28,
  EIO: 29,
  EISDIR: 31,
  ELOOP: 32,
  EMFILE: 33,
  ENAMETOOLONG: 37,
  ENFILE: 41,
  ENOENT: 44,
  ENOMEM: 48,
  ENOSPC: 51,
  ENOTDIR: 54,
  ENOTEMPTY: 55,
  EPERM: 63,
  EROFS: 69,
  EXDEV: 75,
};
/** Emscripten's own flags, which are those of Linux. */
const O = { write: 0o1, readWrite: 0o2, create: 0o100, truncate: 0o1000, append: 0o2000 };

/** What the smallest file takes. */
const BLOCK = 4096;

interface FsNode {
  name: string;
  mode: number;
  parent: FsNode;
  mount: { type: unknown; opts: HostFolder };
  id: number;
  node_ops: unknown;
  stream_ops: unknown;
}

interface FsStream {
  node: FsNode;
  flags: number;
  position: number;
  file?: DenoFile;
  shared: { refcount: number };
}

interface Attributes {
  mode?: number;
  size?: number;
  atime?: number;
  mtime?: number;
  timestamp?: number;
}

export interface EmscriptenFs {
  hashAddNode(node: FsNode): void;
  createNode(parent: FsNode | null, name: string, mode: number): FsNode;
  isDir(mode: number): boolean;
  isFile(mode: number): boolean;
  ErrnoError: new (errno: number) => Error;
  mkdirTree(path: string): void;
  mount(type: unknown, opts: unknown, at: string): void;
  writeFile(path: string, data: Uint8Array | string): void;
}

export interface HostFolder {
  readonly root: string;
  readonly readOnly: boolean;
  /** Takes so many bytes of those that may still be written, where the folder has no size of its own; false when they are not there. */
  readonly take: ((bytes: number) => boolean) | null;
}

/** What `FS.mount` takes; `heap` is the memory that files are mapped into. */
export function hostFs(
  FS: EmscriptenFs,
  allocate: (size: number) => number,
  heap: () => Uint8Array,
): { mount(mount: { opts: HostFolder }): FsNode } {
  const fail = (errno: number) => new FS.ErrnoError(errno);

  function attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof FS.ErrnoError) throw error;
      // Deno's own refusals have no code that a program would know.
      throw fail(ERRNO[(error as NodeJS.ErrnoException).code ?? ""] ?? 2);
    }
  }

  function real(node: FsNode): string {
    const parts: string[] = [];
    let at = node;
    while (at.parent !== at) {
      parts.push(at.name);
      at = at.parent;
    }
    return [at.mount.opts.root, ...parts.reverse()].join("/");
  }

  function writable(node: FsNode): void {
    if (node.mount.opts.readOnly) throw fail(69);
  }

  function make(parent: FsNode | null, name: string, mode: number): FsNode {
    const node = FS.createNode(parent, name, mode);
    node.node_ops = nodeOps;
    node.stream_ops = streamOps;
    return node;
  }

  function attributes(node: FsNode, { dev, size, ...info }: FileInfo) {
    node.mode = info.mode ?? node.mode;
    const zero = { nlink: info.nlink ?? 1, uid: info.uid ?? 0, gid: info.gid ?? 0, rdev: info.rdev ?? 0 };
    const mtime = info.mtime ?? new Date(0);
    const times = { atime: info.atime ?? mtime, mtime, ctime: info.ctime ?? mtime };
    const blocks = { blksize: info.blksize ?? 4096, blocks: info.blocks ?? Math.ceil(size / 512) };
    return { dev, ino: info.ino ?? node.id, mode: node.mode, size, ...zero, ...times, ...blocks };
  }

  function grow(node: FsNode, bytes: number): void {
    const { take } = node.mount.opts;
    if (take && bytes > 0 && !take(bytes)) throw fail(51);
  }

  function change(path: string, node: FsNode, attr: Attributes): void {
    writable(node);
    attempt(() => {
      if (attr.mode !== undefined) {
        denoFs.chmodSync(path, attr.mode & 0o777);
        node.mode = attr.mode;
      }
      if (attr.size !== undefined) {
        grow(node, attr.size - denoFs.lstatSync(path).size);
        denoFs.truncateSync(path, attr.size);
      }
      const when = attr.atime ?? attr.mtime ?? attr.timestamp;
      if (when !== undefined)
        denoFs.utimeSync(path, new Date(attr.atime ?? when), new Date(attr.mtime ?? when));
    });
  }

  const nodeOps = {
    getattr: (node: FsNode) => attempt(() => attributes(node, denoFs.lstatSync(real(node)))),
    setattr: (node: FsNode, attr: Attributes) => change(real(node), node, attr),
    lookup(parent: FsNode, name: string): FsNode {
      const { mode } = attempt(() => denoFs.lstatSync(`${real(parent)}/${name}`));
      return make(parent, name, mode ?? 0);
    },
    mknod(parent: FsNode, name: string, mode: number): FsNode {
      writable(parent);
      if (!FS.isDir(mode) && !FS.isFile(mode)) throw fail(63);
      const path = `${real(parent)}/${name}`;
      grow(parent, BLOCK);
      attempt(() => {
        if (FS.isDir(mode)) denoFs.mkdirSync(path, { mode: mode & 0o777 });
        else denoFs.openSync(path, { write: true, createNew: true, mode: mode & 0o777 }).close();
      });
      return make(parent, name, mode);
    },
    rename(node: FsNode, folder: FsNode, name: string): void {
      writable(node);
      writable(folder);
      if (node.mount !== folder.mount) throw fail(75);
      attempt(() => denoFs.renameSync(real(node), `${real(folder)}/${name}`));
      node.name = name;
    },
    unlink: remove,
    rmdir: remove,
    readdir: (node: FsNode) =>
      attempt(() => [".", "..", ...Array.from(denoFs.readDirSync(real(node)), ({ name }) => name)]),
    symlink(): never {
      throw fail(63);
    },
    readlink: (node: FsNode) => attempt(() => denoFs.readLinkSync(real(node))),
  };

  function remove(parent: FsNode, name: string): void {
    writable(parent);
    attempt(() => denoFs.removeSync(`${real(parent)}/${name}`));
  }

  const streamOps = {
    open(stream: FsStream): void {
      if (!FS.isFile(stream.node.mode)) return;
      const { flags } = stream;
      const writes = (flags & (O.write | O.readWrite)) !== 0;
      if (writes || flags & O.truncate) writable(stream.node);
      const options = {
        read: (flags & O.write) === 0,
        write: writes,
        append: writes && (flags & O.append) !== 0,
        truncate: writes && (flags & O.truncate) !== 0,
      };
      attempt(() => {
        stream.file = denoFs.openSync(real(stream.node), options);
      });
      stream.shared.refcount = 1;
    },
    close(stream: FsStream): void {
      if (stream.file && --stream.shared.refcount === 0) stream.file.close();
    },
    dup(stream: FsStream): void {
      stream.shared.refcount++;
    },
    getattr: (stream: FsStream) =>
      attempt(() =>
        attributes(stream.node, stream.file ? stream.file.statSync() : denoFs.lstatSync(real(stream.node))),
      ),
    setattr: (stream: FsStream, attr: Attributes) => {
      const { file, node } = stream;
      if (attr.size === undefined || !file) return change(real(node), node, attr);
      writable(node);
      attempt(() => {
        grow(node, attr.size! - file.statSync().size);
        file.truncateSync(attr.size!);
      });
    },
    read: (stream: FsStream, buffer: Uint8Array, offset: number, length: number, position: number) =>
      attempt(() => {
        stream.file!.seekSync(position, 0);
        return stream.file!.readSync(bytes(buffer, offset, length)) ?? 0;
      }),
    write: (stream: FsStream, buffer: Uint8Array, offset: number, length: number, position: number) =>
      attempt(() => {
        const file = stream.file!;
        const appends = (stream.flags & O.append) !== 0;
        if (stream.node.mount.opts.take) grow(stream.node, position + length - file.statSync().size);
        if (!appends) file.seekSync(position, 0);
        return file.writeSync(bytes(buffer, offset, length));
      }),
    llseek(stream: FsStream, offset: number, whence: number): number {
      let position = offset;
      if (whence === 1) position += stream.position;
      else if (whence === 2 && stream.file) position += attempt(() => stream.file!.statSync().size);
      if (position < 0) throw fail(28);
      return position;
    },
    mmap(stream: FsStream, length: number, position: number) {
      if (!FS.isFile(stream.node.mode)) throw fail(43);
      const ptr = allocate(length);
      streamOps.read(stream, heap(), ptr, length, position);
      return { ptr, allocated: true };
    },
    msync(stream: FsStream, buffer: Uint8Array, offset: number, length: number): number {
      streamOps.write(stream, buffer, 0, length, offset);
      return 0;
    },
  };

  /** Emscripten gives a view of its memory whose elements have a sign. */
  function bytes(buffer: Uint8Array, offset: number, length: number): Uint8Array {
    return new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length);
  }

  const type = {
    mount: ({ opts }: { opts: HostFolder }) =>
      make(
        null,
        "/",
        attempt(() => denoFs.lstatSync(opts.root).mode ?? 0),
      ),
  };
  // Others change these folders, too: what a name stands for is looked up each time.
  const remember = FS.hashAddNode.bind(FS);
  FS.hashAddNode = (node) => {
    if (node.mount?.type !== type) remember(node);
  };
  return type;
}
