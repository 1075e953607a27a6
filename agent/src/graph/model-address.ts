/**
 * Where models may be called. On one machine workerd holds every request of this Worker to the same rule after names
 * were resolved (`worker/local/server.ts`); here addresses are refused early, and with a sentence.
 *
 * @module
 */
import { type PrivateUrls, SandbarError } from "@sandbar/shared";
import { wholeStream } from "./whole-stream.ts";

export interface Address {
  readonly url: string | null;
  /** By a tenant or the operator, not one of our own table. */
  readonly given: boolean;
}

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i;
const PRIVATE =
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|0\.|\[(::|f[cd]|fe[89ab]|::ffff:)|.*\.(local|internal|lan|home\.arpa)$)/i;

export function permitted({ url }: Address, allowed: PrivateUrls): void {
  if (url === null || allowed === "all") return;
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    throw new SandbarError("MODEL_INVALID", `${url.slice(0, 200)} is not the URL of a model`);
  const { hostname } = new URL(url);
  const loopback = LOOPBACK.test(hostname);
  if ((loopback && allowed === "none") || (!loopback && PRIVATE.test(hostname)))
    throw new SandbarError(
      "MODEL_URL_NOT_ALLOWED",
      `${hostname} lies in a private network, which the operator has not allowed`,
    );
}

/** A model does not move while it is asked, and a redirect could lead where the address may not. */
export const guardedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "manual" });
  if (response.status < 300) return wholeStream(response);
  if (response.status >= 400) return response;
  await response.body?.cancel();
  throw new SandbarError("MODEL_FAILED", `The model's address answers a redirect (${response.status})`);
};
