/** @module Secrets that a tenant keeps for the network of its sessions. Values go in and never come out. */
import type { PutSecret, Secret } from "@sandbar/shared";
import type { Http } from "./http.ts";

const PATH = "/v1/secrets";

export class Secrets {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** By name, without values. */
  async list(): Promise<Secret[]> {
    return (await this.#http.json<{ data: Secret[] }>("GET", PATH)).data;
  }

  /** A new one, or another value; `hosts` says where it may be sent, nowhere else. */
  put(name: string, secret: PutSecret): Promise<Secret> {
    return this.#http.json("PUT", `${PATH}/${encodeURIComponent(name)}`, { json: secret });
  }

  remove(name: string): Promise<void> {
    return this.#http.send("DELETE", `${PATH}/${encodeURIComponent(name)}`);
  }
}
