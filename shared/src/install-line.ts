/** @module The one line by which a machine becomes a host. */
import { VERSION } from "./version.ts";

/** What `npm run pack` calls the daemon's package. */
export const HOST_PACKAGE = `sandbar-agent-host-${VERSION}.tgz`;

/** The token is of our own alphabet, and the URL has been parsed. */
export function installLine(url: string, token: string): string {
  return `npx --yes --package=./${HOST_PACKAGE} agent-host install --url ${url} --token ${token}`;
}
