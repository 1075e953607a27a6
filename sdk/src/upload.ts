/** @module A fetch that tells how much of its body has left. */

export type UploadProgress = (sentBytes: number) => void;

/** What is used of XMLHttpRequest, whose type only browsers have. */
interface Xhr {
  readonly status: number;
  readonly response: ArrayBuffer;
  readonly upload: { onprogress: ((event: { loaded: number }) => void) | null };
  responseType: string;
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: unknown): void;
  abort(): void;
}

const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr };

/**
 * In browsers by XMLHttpRequest: fetch tells nothing there of what it sends, and streams bodies over HTTP/2 only.
 * Elsewhere the body is counted as it is read.
 */
export function uploading(plain: typeof fetch, onProgress: UploadProgress): typeof fetch {
  return async (input, init = {}) => {
    if (XMLHttpRequest && !(init.body instanceof ReadableStream))
      return byXhr(new XMLHttpRequest(), String(input), init, onProgress);
    const body = init.body instanceof ReadableStream ? init.body : new Response(init.body).body!;
    let sent = 0;
    const counted = body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk);
          sent += chunk.byteLength;
          onProgress(sent);
        },
      }),
    );
    return plain(input, { ...init, body: counted, duplex: "half" } as RequestInit);
  };
}

function byXhr(xhr: Xhr, url: string, init: RequestInit, onProgress: UploadProgress): Promise<Response> {
  const { method = "PUT", headers, body, signal } = init;
  xhr.open(method, url);
  xhr.responseType = "arraybuffer";
  for (const [name, value] of new Headers(headers)) xhr.setRequestHeader(name, value);
  xhr.upload.onprogress = ({ loaded }) => onProgress(loaded);
  const abort = () => xhr.abort();
  signal?.addEventListener("abort", abort, { once: true });
  return new Promise<Response>((resolve, reject) => {
    xhr.onload = () => {
      // A 204 may have no body, not even an empty one.
      const content = [204, 304].includes(xhr.status) ? null : xhr.response;
      resolve(new Response(content, { status: xhr.status, headers: headersOf(xhr.getAllResponseHeaders()) }));
    };
    xhr.onerror = () => reject(new TypeError("the upload was cut off"));
    xhr.onabort = () => reject(signal?.reason ?? new DOMException("aborted", "AbortError"));
    xhr.send(body);
  }).finally(() => signal?.removeEventListener("abort", abort));
}

function headersOf(lines: string): Headers {
  const headers = new Headers();
  for (const line of lines.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
