/** A browser as far as the Worker can tell: it keeps cookies and says where its pages come from. */
import { ORIGIN, worker } from "./fake-daemon.ts";

export class Browser {
  readonly #cookies = new Map<string, string>();
  readonly origin: string;

  constructor(origin = ORIGIN) {
    this.origin = origin;
  }

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  keep(name: string, value: string): this {
    this.#cookies.set(name, value);
    return this;
  }

  async fetch(path: string, init: RequestInit & { json?: unknown } = {}): Promise<Response> {
    const headers = new Headers(init.headers as HeadersInit);
    if (this.#cookies.size > 0) headers.set("Cookie", this.cookie);
    if (init.json !== undefined) headers.set("Content-Type", "application/json");
    if (!["GET", "HEAD"].includes(init.method ?? "GET") && !headers.has("Origin"))
      headers.set("Origin", this.origin);
    const answer = await worker.fetch(`${this.origin}${path}`, {
      redirect: "manual",
      ...init,
      headers,
      ...(init.json === undefined ? {} : { body: JSON.stringify(init.json) }),
    });
    for (const line of answer.headers.getSetCookie()) this.#take(line);
    return answer;
  }

  async json<T>(path: string, init: RequestInit & { json?: unknown } = {}): Promise<T> {
    return (await this.fetch(path, init)).json<T>();
  }

  /** The status of the answer. */
  async signIn(how: { api_key: string } | { code: string }): Promise<number> {
    const answer = await this.fetch("/console/sign-in", { method: "POST", json: how });
    await answer.body?.cancel();
    return answer.status;
  }

  #take(line: string): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const [name = "", value = ""] = pair.split("=");
    const gone = attributes.some((attribute) => /^max-age=0$/i.test(attribute));
    if (gone) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}
