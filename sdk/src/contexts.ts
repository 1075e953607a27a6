/** @module Named kernels of a session: several languages, or several namespaces, side by side. */
import type { Context, Language } from "@sandbar/shared";
import type { Http } from "./http.ts";

export class Contexts {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, sessionId: string) {
    this.#http = http;
    this.#path = `/v1/sessions/${sessionId}/contexts`;
  }

  async list(): Promise<Context[]> {
    return (await this.#http.json<{ data: Context[] }>("GET", this.#path)).data;
  }

  /** The same name and language again gives the same context. */
  create(name: string, language: Language): Promise<Context> {
    return this.#http.json("POST", this.#path, { json: { name, language }, safe: true });
  }

  /** A fresh kernel: files stay, variables go. */
  restart(nameOrId: string): Promise<void> {
    return this.#http.send("POST", `${this.#path}/${encodeURIComponent(nameOrId)}/restart`);
  }

  remove(nameOrId: string): Promise<void> {
    return this.#http.send("DELETE", `${this.#path}/${encodeURIComponent(nameOrId)}`);
  }
}
