/** @module `fetch` for code that may reach the network: this thread can reach nothing, so the guest makes the request. */
import { FETCH_BODY_BYTES } from "./wire.ts";

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: [string, string][];
  readonly url: string;
  readonly redirected: boolean;
}

interface Going {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  body: ReadableStreamDefaultController<Uint8Array> | null;
}

export type Asked = Parameters<typeof fetch>[0];

const BODILESS = new Set([204, 205, 304]);

export class Requests {
  readonly #say: (message: object) => void;
  readonly #real: typeof fetch;
  readonly #going = new Map<number, Going>();
  #last = 0;

  /** `real` answers what needs no network: `data:` and `blob:`. */
  constructor(say: (message: object) => void, real: typeof fetch) {
    this.#say = say;
    this.#real = real;
  }

  readonly fetch = async (input: Asked, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    if (!/^https?:/.test(request.url)) return this.#real(request);
    const { signal, method, url, redirect } = request;
    signal.throwIfAborted();
    const body = request.body ? new Uint8Array(await request.arrayBuffer()) : null;
    if (body && body.length > FETCH_BODY_BYTES)
      throw new TypeError(`a request's body may have ${FETCH_BODY_BYTES / 1024 / 1024} MB in WebAssembly`);
    const id = ++this.#last;
    const going = Promise.withResolvers<Answer>();
    const entry: Going = { ...going, body: null };
    this.#going.set(id, entry);
    signal.addEventListener("abort", () => this.#drop(id, signal.reason), { once: true });
    this.#say({
      op: "fetch",
      id,
      url,
      method,
      redirect,
      headers: [...request.headers],
      body: body && base64(body),
    });
    const answer = await going.promise;
    const none = method === "HEAD" || BODILESS.has(answer.status);
    if (none) this.#drop(id, null);
    const { status, text: statusText, headers } = answer;
    const response = new Response(none ? null : this.#stream(id, entry), { status, statusText, headers });
    for (const name of ["url", "redirected"] as const)
      Object.defineProperty(response, name, { value: answer[name] });
    return response;
  };

  onMessage({
    op,
    id,
    error,
    ...answer
  }: { op: string; id: number; error?: string } & Partial<Answer>): void {
    const going = this.#going.get(id);
    if (op === "fetched") going?.resolve(answer as Answer);
    else if (going) this.#fail(id, going, new TypeError(error));
  }

  onChunk(frame: Uint8Array): void {
    const id = new DataView(frame.buffer, frame.byteOffset).getUint32(0);
    const body = this.#going.get(id)?.body;
    if (!body) return;
    if (frame.length > 4) body.enqueue(frame.subarray(4));
    else {
      this.#going.delete(id);
      body.close();
    }
  }

  /** Whoever waits is told. */
  endAll(error: Error): void {
    for (const id of [...this.#going.keys()]) this.#drop(id, error);
  }

  #stream(id: number, going: Going): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          going.body = controller;
        },
        pull: () => this.#say({ op: "fetch.pull", id }),
        cancel: () => this.#drop(id, null),
      },
      { highWaterMark: 4 },
    );
  }

  #drop(id: number, error: Error | null): void {
    const going = this.#going.get(id);
    if (!going) return;
    this.#say({ op: "fetch.cancel", id });
    if (error) this.#fail(id, going, error);
    else this.#going.delete(id);
  }

  #fail(id: number, going: Going, error: Error): void {
    this.#going.delete(id);
    going.reject(error);
    going.body?.error(error);
  }
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
