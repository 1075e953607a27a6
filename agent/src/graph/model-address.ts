/**
 * Where models may be called. On one machine workerd holds every request of this Worker to the same rule after names
 * were resolved (`worker/local/server.ts`); here addresses are refused early, and with a sentence.
 *
 * @module
 */
import { liesIn, METADATA_V4, type PrivateUrls, SandbarError, SPECIAL_V4, SPECIAL_V6 } from "@sandbar/shared";
import { wholeStream } from "./whole-stream.ts";

const LOOPBACK = ["127.0.0.0/8", "::1/128"];
const LOOPBACK_NAME = /^(.*\.)?localhost$/i;
const SPECIAL = [...SPECIAL_V4, ...SPECIAL_V6];
const PRIVATE_NAME = /\.(local|internal|lan|home\.arpa)$/i;

export function permitted(url: string, allowed: PrivateUrls): void {
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    throw new SandbarError("MODEL_INVALID", `${url.slice(0, 200)} is not the URL of a model`);
  // A dot at its end makes a name no other name.
  const host = new URL(url).hostname.replace(/\.$/, "");
  if (liesIn(host, METADATA_V4))
    throw new SandbarError(
      "MODEL_URL_NOT_ALLOWED",
      `${host} lies in a private network where clouds keep credentials, and is never allowed`,
    );
  if (allowed === "all") return;
  const loopback = LOOPBACK_NAME.test(host) || liesIn(host, LOOPBACK);
  if (loopback ? allowed === "none" : PRIVATE_NAME.test(host) || liesIn(host, SPECIAL))
    throw new SandbarError(
      "MODEL_URL_NOT_ALLOWED",
      `${host} lies in a private network, which the operator has not allowed`,
    );
}

const unguarded = globalThis.fetch;

/** A model does not move while it is asked, and a redirect could lead where the address may not. */
export const guardedFetch: typeof fetch = async (input, init) => {
  const response = await unguarded(input, { ...init, redirect: "manual" });
  if (response.status < 300 || response.status >= 400) return wholeStream(response);
  await response.body?.cancel();
  throw new SandbarError("MODEL_FAILED", `The model's address answers a redirect (${response.status})`);
};
