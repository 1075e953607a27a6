/** @module One HTTP request to the control plane: auth, query, JSON, errors, retries. */
import { errorFromResponse, networkError, SandbarError } from "./errors.ts";
import { DEFAULT_RETRY, type RetryPolicy, retryDelayMs, sleep } from "./retry.ts";
import { type UploadProgress, uploading } from "./upload.ts";

export type Query = Record<string, string | number | boolean | undefined>;

/** By this way, because only browsers have its own name as a global type. */
export type Body = NonNullable<RequestInit["body"]>;

export interface RequestOptions {
  query?: Query;
  json?: unknown;
  body?: Body | ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Whether sending it twice is harmless. GET, HEAD, PUT and DELETE are, unless said otherwise. */
  safe?: boolean;
  /** Told as the body leaves. */
  onProgress?: UploadProgress;
}

/** A key; or, in the console's pages, the cookie of a browser that has signed in. */
export type Credentials =
  | { apiKey: string; credentials?: undefined }
  | { credentials: "cookie"; apiKey?: undefined };

export type HttpOptions = Credentials & {
  url: string;
  fetch?: typeof fetch;
  retry?: Partial<RetryPolicy>;
  headers?: Record<string, string>;
};

const SAFE_METHODS = new Set(["GET", "HEAD", "PUT", "DELETE"]);

export class Http {
  readonly url: string;
  readonly retry: RetryPolicy;
  readonly apiKey: string;
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;

  constructor(options: HttpOptions) {
    this.url = baseUrl(options.url);
    this.retry = { ...DEFAULT_RETRY, ...options.retry };
    this.apiKey = plainKey(options.apiKey);
    this.#headers = options.headers ?? {};
    // Workers and browsers throw "Illegal invocation" when fetch is called as a method of another object.
    const given = options.fetch ?? globalThis.fetch;
    this.#fetch = (input, init) => given(input, init);
  }

  get authorization(): Record<string, string> {
    return this.apiKey ? { authorization: `Bearer ${this.apiKey}` } : {};
  }

  resolve(path: string, query: Query = {}): string {
    const url = new URL(/^https?:/.test(path) ? path : `${this.url}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url.href;
  }

  /** Sends the request, again where that is safe, and resolves to a 2xx response. */
  request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    return this.#retrying(method, options, () => this.#once(method, path, options));
  }

  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const headers = { accept: "application/json", ...options.headers };
    return this.#retrying(method, options, async () => {
      const response = await this.#once(method, path, { ...options, headers });
      const text = await response.text().catch((error) => {
        throw options.signal?.aborted ? options.signal.reason : networkError(error, "the answer was cut off");
      });
      try {
        return JSON.parse(text) as T;
      } catch (cause) {
        throw new SandbarError({
          code: "UNEXPECTED_ANSWER",
          detail: `${method} ${path} did not answer JSON: ${text.slice(0, 200)}`,
          status: response.status,
          hint: "Check that the URL is Sandbar's.",
          cause,
        });
      }
    });
  }

  /** All bytes of an answer; a cut on the way is tried again like no answer. */
  bytes(method: string, path: string, options: RequestOptions = {}): Promise<Uint8Array> {
    return this.#retrying(method, options, async () =>
      wholeBody(await this.#once(method, path, options), options.signal),
    );
  }

  /** The same for a link that carries its own proof. */
  linkBytes(url: string, { signal }: { signal?: AbortSignal } = {}): Promise<Uint8Array> {
    return this.#retrying("GET", { signal }, async () =>
      wholeBody(await this.fetchLink(url, { signal }), signal),
    );
  }

  /** For requests whose answer has no body. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<void> {
    const response = await this.request(method, path, options);
    await response.body?.cancel();
  }

  /** A fetch with the API key whose answer is somebody else's: passed on as it is, whatever its status. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(this.authorization)) headers.set(name, value);
    return this.#fetch(this.resolve(path), { ...init, headers });
  }

  /** A plain fetch of an absolute URL, without the API key: for links that carry their own proof. */
  async fetchLink(url: string, init: RequestInit = {}): Promise<Response> {
    const response = await this.#fetch(this.resolve(url), init).catch((error) => {
      throw init.signal?.aborted ? init.signal.reason : networkError(error);
    });
    if (!response.ok) throw await errorFromResponse(response);
    return response;
  }

  async #retrying<T>(method: string, options: RequestOptions, work: () => Promise<T>): Promise<T> {
    // A stream can be sent only once.
    const replayable = !(options.body instanceof ReadableStream);
    const safe = (options.safe ?? SAFE_METHODS.has(method)) && replayable;
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const delay = safe && !options.signal?.aborted ? retryDelayMs(error, attempt, this.retry) : null;
        if (delay === null) throw error;
        await sleep(delay, options.signal);
      }
    }
  }

  async #once(method: string, path: string, options: RequestOptions): Promise<Response> {
    const { json, body, signal, onProgress } = options;
    signal?.throwIfAborted();
    let response: Response;
    const send = onProgress && body !== undefined ? uploading(this.#fetch, onProgress) : this.#fetch;
    try {
      response = await send(this.resolve(path, options.query), {
        method,
        signal,
        headers: {
          ...this.authorization,
          ...this.#headers,
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...options.headers,
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        ...(body === undefined ? {} : { body: body as Body }),
        ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
      } as RequestInit);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw networkError(error, `${method} ${path}`);
    }
    if (!response.ok) throw await errorFromResponse(response);
    return response;
  }
}

/** Others could not be sent: headers hold visible characters. */
function plainKey(text = ""): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]*$/.test(key))
    throw new SandbarError({
      code: "INVALID_KEY",
      detail: "the API key has characters that no key has",
      hint: "Give one like sbk_… (SANDBAR_API_KEY).",
    });
  return key;
}

function baseUrl(text: string): string {
  if (!/^https?:/i.test(text) || !URL.canParse(text))
    throw new SandbarError({
      code: "INVALID_URL",
      detail: `${JSON.stringify(text)} is not the URL of a Sandbar`,
      hint: "Give one like http://127.0.0.1:8787 (SANDBAR_URL).",
    });
  return text.replace(/\/+$/, "");
}

async function wholeBody(response: Response, signal?: AbortSignal): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw signal?.aborted ? signal.reason : networkError(error, "the download was cut off");
  }
}
