/** @module Whether a session's rules name a target. */
import type { Target } from "./target.ts";

const USUAL_PORTS = [80, 443];

export function allows(rules: readonly string[], target: Target): boolean {
  return rules.some((rule) => matches(rule, target));
}

/** `*.` stands for one label or more; it does not stand for the name itself. */
export function matches(
  rule: string,
  { host, port }: Target,
  usual: readonly number[] = USUAL_PORTS,
): boolean {
  const at = /:\d+$/.exec(rule)?.index ?? rule.length;
  const name = spelled(rule.slice(0, at));
  const ports = at < rule.length ? [Number(rule.slice(at + 1))] : usual;
  if (!ports.includes(port)) return false;
  if (!name.startsWith("*.")) return host === name;
  return host.endsWith(name.slice(1)) && host.length > name.length - 1;
}

/** An address may be written in many ways; targets come as a URL has it. */
function spelled(name: string): string {
  const lower = name.toLowerCase();
  return !lower.startsWith("*.") && URL.canParse(`http://${lower}/`)
    ? new URL(`http://${lower}/`).hostname
    : lower;
}
