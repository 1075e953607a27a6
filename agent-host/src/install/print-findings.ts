/** @module Findings for people: what is, and below what is wrong, what to do. */
import type { Finding } from "./checks.ts";

const MARK = { ok: "✓", warn: "!", fail: "✗" } as const;

export function printFinding({ check, state, detail, fix }: Finding, say: (line: string) => void): void {
  say(`${MARK[state]} ${check}: ${detail}`);
  if (fix) say(`  ${fix}`);
}

export const failures = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ state }) => state === "fail");
