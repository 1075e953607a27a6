/** @module Ports that a program says it listens on. */

const SAID =
  /(?:https?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]|\*)|\bport[ :=]+|\blistening (?:on|at) (?:[\w.[\]:]*:)?):?(\d{2,5})\b/gi;
const ANSI = /\x1b\[[0-9;?]*[A-Za-z]/g;

export function portsIn(output: string): number[] {
  const found = new Set<number>();
  for (const [, digits] of output.replace(ANSI, "").matchAll(SAID)) {
    const port = Number(digits);
    if (port > 0 && port < 65_536) found.add(port);
  }
  return [...found];
}
