/**
 * Under which names this API is served. A page's owner can point a name of theirs at this machine (DNS rebinding) and
 * speak to what listens here as if it were their own site; addresses and `localhost` cannot be pointed elsewhere, and
 * over TLS the certificate proves the name. Other names are the operator's to list.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";

export interface NameSettings {
  /** Host names, separated by commas, under which plain HTTP is served too. */
  ALLOWED_HOSTS?: string;
  /** Its name needs no listing. */
  CONSOLE_ORIGIN?: string;
}

const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/i;

/** The name that was good last: nearly all requests come under the same one. */
let lastGood = "";

/** Throws when the request came under a name that is not known to be ours. */
export function requireKnownName(request: Request, settings: NameSettings): void {
  const header = request.headers.get("Host");
  const origin = request.url.slice(0, request.url.indexOf("/", "https://".length));
  const name = `${origin} ${header} ${settings.ALLOWED_HOSTS} ${settings.CONSOLE_ORIGIN}`;
  if (name === lastGood) return;
  const url = new URL(request.url);
  if (isKnown(url, header, settings)) {
    lastGood = name;
    return;
  }
  throw new SandbarError(
    "HOST_NAME_NOT_ALLOWED",
    `The host name ${(header ?? url.host).slice(0, 200)} is not in ALLOWED_HOSTS`,
  );
}

function isKnown(url: URL, header: string | null, { ALLOWED_HOSTS, CONSOLE_ORIGIN = "" }: NameSettings) {
  if (header !== null && !names(header, url)) return false;
  const allowed = listed(ALLOWED_HOSTS);
  const { hostname, host } = url;
  if (allowed.includes(hostname) || allowed.includes(host)) return true;
  if (hostname === "localhost" || ADDRESS.test(hostname)) return true;
  if (URL.canParse(CONSOLE_ORIGIN) && new URL(CONSOLE_ORIGIN).host === host) return true;
  return url.protocol === "https:" && allowed.length === 0;
}

/** Whether the header says what the URL says; a port that goes without saying may be said. */
function names(header: string, url: URL): boolean {
  const said = `${url.protocol}//${header}`;
  return header.toLowerCase() === url.host || (URL.canParse(said) && new URL(said).host === url.host);
}

export const listed = (value = "") =>
  value
    .split(",")
    .map((item) => item.trim().toLowerCase())
    .filter(Boolean);
