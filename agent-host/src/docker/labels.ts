/** @module By which labels this host knows its containers. */

export const LABEL = {
  host: "sandbar.host",
  session: "sandbar.session",
  box: "sandbar.box",
  pool: "sandbar.pool",
  temporary: "sandbar.temporary",
} as const;

/** Of what a daemon that was killed leaves, the next one removes at once. */
export const TEMPORARY = (host: string) => ({ [LABEL.host]: host, [LABEL.temporary]: "1" });
