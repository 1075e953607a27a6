/** @module Which tests a change may break, as far as imports and the table below can tell. */
import { execFileSync } from "node:child_process";

/** Code that tests drive as a program of its own, so that no import leads from them to it. */
const DRIVEN = [
  { code: /^(worker\/src|shared\/src|migrations)\//, tests: ["test/workerd/"] },
  { code: /^(agent-host\/src|shared\/src)\//, tests: ["agent-host/test/"] },
  { code: /^images\//, tests: ["test/guest/"] },
  { code: /^cli\//, tests: ["test/cli/"] },
  { code: /^docs\//, tests: ["test/docs/examples-docs.test.ts"] },
  { code: /^examples\//, tests: ["test/docs/examples-run.test.ts"] },
];

export function testsDriving(files: readonly string[]): string[] {
  const driving = DRIVEN.filter(({ code }) => files.some((file) => code.test(file)));
  return [...new Set(driving.flatMap(({ tests }) => tests))];
}

/** Where this branch began: the commit that it shares with its upstream or with main, or where it stands. */
export function branchBase(repo: string): string {
  for (const other of ["@{upstream}", "origin/main", "main"]) {
    try {
      return git(repo, ["merge-base", "HEAD", other]).trim();
    } catch {
      // There is no such branch here.
    }
  }
  return "HEAD";
}

export function filesChanged(repo: string, base: string): string[] {
  const lists = [
    git(repo, ["diff", "--name-only", base]),
    git(repo, ["ls-files", "--others", "--exclude-standard"]),
  ];
  return lists.flatMap((list) => list.split("\n").filter(Boolean));
}

function git(repo: string, args: string[]): string {
  return execFileSync("git", args, { cwd: repo, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
