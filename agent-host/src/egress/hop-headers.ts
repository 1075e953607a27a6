/** @module Headers without those that concern one hop only (RFC 9110, 7.6.1), as flat lists of names and values. */

const HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** `without`: others that are left out, in lower case. The length stays, whatever the sender calls it: it frames the body. */
export function endToEnd(raw: readonly string[], without: readonly string[] = []): string[] {
  const dropped = new Set([...HOP, ...without]);
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]!.toLowerCase() === "connection")
      for (const name of raw[at + 1]!.split(",")) dropped.add(name.trim().toLowerCase());
  dropped.delete("content-length");
  const kept: string[] = [];
  for (let at = 0; at < raw.length; at += 2)
    if (!dropped.has(raw[at]!.toLowerCase())) kept.push(raw[at]!, raw[at + 1]!);
  return kept;
}
