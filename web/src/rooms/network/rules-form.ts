/** @module What the form for a session's rules holds, and the rules that it means. */
import type { NetworkRulesInput, SessionNetwork } from "@sandbar/sdk";

export interface SecretLine {
  host: string;
  header: string;
  /** A stored secret's name, or "" for a value of the session's own. */
  secret: string;
  value: string;
}

export interface RulesForm {
  /** A line each. */
  allow: string;
  secrets: readonly SecretLine[];
}

export const EMPTY_LINE: SecretLine = { host: "", header: "Authorization", secret: "", value: "" };

/** Values are not told again: who keeps a line without a stored secret types its value anew. */
export function formOf({ allow, secrets }: Pick<SessionNetwork, "allow" | "secrets">): RulesForm {
  const named = new Set(secrets.map(({ host }) => host));
  return {
    // A secret's host is allowed with it.
    allow: allow.filter((rule) => !named.has(rule)).join("\n"),
    secrets: secrets.map(({ host, header, secret = "" }) => ({ host, header, secret, value: "" })),
  };
}

/** The rules, or what is missing. The server checks everything again. */
export function rulesOf({ allow, secrets }: RulesForm): { rules: NetworkRulesInput } | { wrong: string } {
  const lines = secrets.filter(({ host, secret, value }) => host.trim() || secret || value);
  if (lines.some(({ host, header }) => !host.trim() || !header.trim()))
    return { wrong: "A secret needs a host and a header." };
  const bare = lines.find(({ secret, value }) => !secret && !value);
  if (bare) return { wrong: `${bare.host}: choose a stored secret, or type the value.` };
  return {
    rules: {
      allow: allow
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean),
      secrets: lines.map(({ host, header, secret, value }) => ({
        host: host.trim(),
        header: header.trim(),
        ...(secret ? { secret } : { value }),
      })),
    },
  };
}
