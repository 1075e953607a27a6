import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { egressNames, egressRules } from "./egress-rules.ts";
import { filterScript, unfilterScript } from "./egress-script.ts";

const names = egressNames("hst_01k9abcdefghijklmnopqrstuv");
const script = filterScript(names, egressRules(names, { resolvers: [], allow: [] }));

/** Fake programs, which write down how they were called; `has` says which of them know Docker's chain. */
function runWith(has: readonly string[], text = script): string[] {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-filter-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "log");
  writeFileSync(log, "");
  for (const variant of ["", "-legacy"])
    for (const family of ["ip", "ip6"]) {
      const name = `${family}tables${variant}`;
      const knows = has.includes(name)
        ? ""
        : 'case "$*" in *DOCKER-USER) echo "no chain" >&2; exit 1;; esac\n';
      const checks = 'case "$*" in *-C*) exit 1;; esac\n';
      const put = (file: string, body: string) =>
        writeFileSync(join(folder, file), `#!/bin/sh\n${body}`, { mode: 0o755 });
      put(name, `${knows}echo "${name} $*" >> ${log}\n${checks}`);
      put(`${name}-restore`, `echo "${name}-restore $*" >> ${log}\ncat > ${folder}/rules\n`);
    }
  execFileSync("/bin/sh", ["-ec", text], {
    env: { PATH: `${folder}:${process.env.PATH}` },
    stdio: "pipe",
  });
  return readFileSync(log, "utf8").trim().split("\n");
}

it("changes the tables in which Docker has its chain", () => {
  expect(runWith(["iptables"])).toContain(
    `iptables -w 5 -I DOCKER-USER 1 -i ${names.bridge} -j ${names.forwardChain}`,
  );
  const legacy = runWith(["iptables-legacy"]);
  expect(legacy).toContain("iptables-legacy-restore -w 5 --noflush");
  expect(legacy).toContain(`ip6tables-legacy -w 5 -I INPUT 1 -i ${names.bridge} -j DROP`);
});

it("fails with the complaint of the usual program where neither has it", () => {
  expect(() => runWith([])).toThrow("no chain");
});

it("goes on taking away when something is gone already", () => {
  const lines = runWith(["iptables"], unfilterScript(names));
  expect(lines).toContain(`iptables -w 5 -X ${names.inputChain}`);
  expect(lines.at(-1)).toBe(`ip6tables -w 5 -D INPUT -i ${names.bridge} -j DROP`);
});
