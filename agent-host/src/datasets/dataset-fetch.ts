/**
 * A dataset from the operator's source. The daemon fetches, not the Worker: only here can the address be checked that is
 * really connected to, and the bytes need not pass through the control plane.
 *
 * @module
 */
import http from "node:http";
import https from "node:https";
import type { Readable } from "node:stream";
import { type DatasetFetch, SandbarError } from "@sandbar/shared";
import { publicLookup, requirePublicHost } from "../io/address-guard.ts";

const REDIRECTS = 3;
const REDIRECT_STATUS = new Set([301, 302, 303, 307, 308]);

/** The body of a 200; `signal` ends it too. */
export async function fetchDataset(
  source: DatasetFetch,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Readable> {
  const first = new URL(source.url);
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const response = await request(url, source, url.origin === first.origin, signal);
    const status = response.statusCode ?? 0;
    if (status === 200) {
      try {
        requireReadable(response, maxBytes);
        return response;
      } catch (error) {
        response.destroy();
        throw error;
      }
    }
    response.destroy();
    if (!REDIRECT_STATUS.has(status) || !response.headers.location)
      throw new SandbarError("DATASET_FAILED", `the source answered ${status}`);
    if (redirects === REDIRECTS)
      throw new SandbarError("DATASET_FAILED", `the source redirected more than ${REDIRECTS} times`);
    url = redirected(url, response.headers.location, first, source.redirect_origins);
  }
}

function redirected(from: URL, location: string, first: URL, allowed: readonly string[]): URL {
  if (!URL.canParse(location, from.href))
    throw new SandbarError("DATASET_FAILED", "the source redirected to something that is no URL");
  const url = new URL(location, from);
  if (url.origin !== first.origin && !allowed.includes(url.origin))
    throw new SandbarError("SOURCE_NOT_ALLOWED", `the source redirected to another origin, ${url.origin}`);
  url.username = "";
  url.password = "";
  return url;
}

function requireReadable({ headers }: http.IncomingMessage, maxBytes: number): void {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity")
    throw new SandbarError(
      "DATASET_FAILED",
      `the source sent the content encoding ${encoding}, which was not asked for`,
    );
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

export function tooLarge(maxBytes: number): SandbarError {
  return new SandbarError("PAYLOAD_TOO_LARGE", `the dataset has more than ${maxBytes} bytes`);
}

/** Secrets go to the source's own origin only. */
function request(
  url: URL,
  { headers, allow_private }: DatasetFetch,
  trusted: boolean,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  if (!allow_private) requirePublicHost(url);
  const options: http.RequestOptions = {
    method: "GET",
    signal,
    agent: false,
    headers: {
      accept: "*/*",
      "user-agent": "sandbar",
      ...(trusted ? headers : {}),
      "accept-encoding": "identity",
    },
    ...(allow_private ? {} : { lookup: publicLookup }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === "https:" ? https : http).request(url, options, resolve);
    outgoing.once("error", (error) =>
      reject(
        error instanceof SandbarError || signal.aborted
          ? error
          : new SandbarError(
              "DATASET_FAILED",
              `the source could not be reached: ${error.message || error.name}`,
            ),
      ),
    );
    outgoing.end();
  });
}
