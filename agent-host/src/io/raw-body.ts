/**
 * Large HTTP bodies from one socket into another, past Node's parser, through the same few buffers again and again: the
 * parser copies each 64 KB into a new buffer, and collecting those costs more than moving the bytes.
 *
 * 50 MB take 50 ms of CPU here, 160 ms without this, and 121 ms with undici: see `docs/design/transfers.md`.
 *
 * @module
 */
import type http from "node:http";
import type { Socket, TcpSocketConnectOpts } from "node:net";
import { finished, pipeline } from "node:stream/promises";

/** Less is not worth the connection, which cannot be used again. */
const LARGE_BYTES = 1024 * 1024;
const BUFFER_BYTES = 256 * 1024;
/** One is filled while the others are written. */
const BUFFERS = 4;

const readsOf = new WeakMap<Socket, Reads>();

/** The bodies of this agent's responses can be pumped. */
export function withRawBodies<A extends http.Agent>(agent: A): A {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const reads = new Reads();
    const onread = { buffer: () => reads.buffer, callback: (count: number) => reads.arrived(count) };
    const socket = connect({ ...options, onread } as TcpSocketConnectOpts, callback) as Socket;
    reads.socket = socket;
    readsOf.set(socket, reads);
    return socket;
  };
  return agent;
}

/** All of an unread body into the sink, which is then ended. A cut on either side ends both and throws. */
export async function pump(response: http.IncomingMessage, sink: Socket): Promise<void> {
  const reads = readsOf.get(response.socket);
  const length = Number(response.headers["content-length"] ?? 0);
  if (!reads || length < LARGE_BYTES) return pipeline(response, sink);
  const parsed = response.read() as Buffer | null;
  if (parsed) sink.write(parsed);
  reads.divert(sink, length - (parsed?.length ?? 0));
  // The parser never hears of the rest, so its own view of a connection that ends after that does not count.
  const cut = (error = new Error("the connection was closed")) => {
    if (reads.left > 0) sink.destroy(error);
  };
  response.once("error", cut).once("close", cut);
  try {
    await finished(sink, { readable: false });
  } finally {
    response.destroy();
  }
}

class Reads {
  socket!: Socket;
  readonly #free: Buffer[] = [];
  #made = 0;
  #next = this.#take();
  #sink: Socket | null = null;
  #left = 0;

  /** Bytes that have not come yet. */
  get left(): number {
    return this.#left;
  }

  get buffer(): Buffer {
    return this.#next;
  }

  /** So many bytes from here on are not the parser's. */
  divert(sink: Socket, length: number): void {
    this.#sink = sink;
    this.#left = length;
    if (length === 0) sink.end();
    else this.socket.resume();
  }

  /** False when reading has to wait for writing. */
  arrived(count: number): boolean {
    const buffer = this.#next;
    // Whoever listens may hold on to it.
    if (!this.#sink) return this.socket.emit("data", Buffer.from(buffer.subarray(0, count)));
    const bytes = buffer.subarray(0, Math.min(count, this.#left));
    this.#left -= bytes.length;
    this.#sink.write(bytes, () => this.#written(buffer));
    if (this.#left === 0) {
      this.#sink.end();
      return false;
    }
    this.#next = this.#take();
    return this.#free.length > 0 || this.#made < BUFFERS;
  }

  #take(): Buffer {
    const free = this.#free.pop();
    if (free) return free;
    this.#made++;
    return Buffer.allocUnsafeSlow(BUFFER_BYTES);
  }

  #written(buffer: Buffer): void {
    this.#free.push(buffer);
    if (this.#left > 0) this.socket.resume();
  }
}
