/**
 * What the guest and a kernel's process say to each other, and that process and its worker.
 *
 * On the socket each message is a frame: four bytes of length, one of kind, then JSON, the bytes of a stream, or four bytes
 * of a request's number and some of its answer's body.
 *
 * @module
 */

export const FRAME = { json: 0, stdout: 1, stderr: 2, chunk: 3 } as const;
/** A kernel is user code's own process and may say anything; no frame is larger than this. */
export const FRAME_BYTES = 32 * 1024 * 1024;

export interface Mount {
  readonly at: string;
  readonly root: string;
  readonly readOnly: boolean;
  /** What is in it counts against the session's storage, where somebody has to count. */
  readonly counted: boolean;
}

/** What a kernel's process is started with, as JSON, its only argument. */
export interface KernelStart {
  readonly socket: string;
  /** Says to the guest which of its kernels this is. */
  readonly secret: string;
  /** Pyodide's own files. */
  readonly pyodide: string;
  /** What Pyodide's lock file says of itself. */
  readonly lockInfo: unknown;
  /** Python's side of the kernel: files of the package `sandbar_kernel`. */
  readonly package: string;
  /** Of a Python that has the kernel loaded; null to make one. */
  readonly snapshot: string | null;
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether code may make requests. */
  readonly network: boolean;
  /** Nobody waits for it yet: what a first cell would have to wait for is done before. */
  readonly rehearses: boolean;
  /** Bytes that the folders may grow by before somebody counts again; null where they have a size of their own. */
  readonly room: number | null;
}

/** A request that code makes; its number is the kernel's own. */
export interface FetchRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly [string, string][];
  readonly redirect: string;
  /** In base64. */
  readonly body: string | null;
}
/** So many at once. */
export const FETCHES = 32;
export const FETCH_BODY_BYTES = 16 * 1024 * 1024;

/** Cells of the memory that both threads share. */
export const SHARED = { interrupt: 0, unsent: 1, room: 2 } as const;
export const SHARED_CELLS = 4;
/** So many bytes of output may wait for the socket; the code that writes more stands still. */
export const UNSENT_BYTES = 4 * 1024 * 1024;

export function frame(kind: number, body: Uint8Array): Uint8Array {
  const whole = new Uint8Array(5 + body.length);
  new DataView(whole.buffer).setUint32(0, body.length);
  whole[4] = kind;
  whole.set(body, 5);
  return whole;
}

/** Cuts a stream of bytes into frames; throws at one that is too large. */
export class FrameReader {
  #chunks: Uint8Array[] = [];
  #size = 0;
  readonly #onFrame: (kind: number, body: Uint8Array) => void;

  constructor(onFrame: (kind: number, body: Uint8Array) => void) {
    this.#onFrame = onFrame;
  }

  feed(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= 5) {
      const head = this.#peek(5);
      const length = new DataView(head.buffer, head.byteOffset).getUint32(0);
      if (length > FRAME_BYTES) throw new Error("a frame is too large");
      if (this.#size < 5 + length) return;
      const whole = this.#peek(5 + length);
      const rest = this.#chunks[0]!.subarray(5 + length);
      this.#chunks[0] = rest;
      if (rest.length === 0) this.#chunks.shift();
      this.#size -= 5 + length;
      this.#onFrame(whole[4]!, whole.subarray(5, 5 + length));
    }
  }

  /** The first so many bytes, which are in the first chunk afterwards. */
  #peek(size: number): Uint8Array {
    if (this.#chunks[0]!.length < size) {
      const joined = new Uint8Array(this.#size);
      let at = 0;
      for (const chunk of this.#chunks) {
        joined.set(chunk, at);
        at += chunk.length;
      }
      this.#chunks = [joined];
    }
    return this.#chunks[0]!.subarray(0, size);
  }
}
