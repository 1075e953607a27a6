/** @module `agent-host doctor`: what install looks at before it begins, and whether an installed host is well. */
import { type Finding, findingsOf } from "./checks.ts";
import { lookAt } from "./facts.ts";
import type { DoctorOptions } from "./install-command-line.ts";
import { daemonStatus, type InstalledHost, installedHost, runtimesOf } from "./installed-host.ts";
import { type Places, placesBelow } from "./places.ts";
import { failures, printFinding } from "./print-findings.ts";
import { unitIsActive } from "./systemd.ts";

/** Whether nothing must be done. */
export async function doctor(
  { root, url, json }: DoctorOptions,
  say: (line: string) => void,
): Promise<boolean> {
  const places = placesBelow(root);
  const host = installedHost(places);
  const facts = await lookAt({
    url: url ?? host?.url,
    home: host?.home ?? places.home,
    images: runtimesOf(places),
  });
  const findings = [...findingsOf(facts), ...(host ? await service(host, places) : [])];
  if (json) say(JSON.stringify(findings, null, 2));
  else for (const finding of findings) printFinding(finding, say);
  return failures(findings).length === 0;
}

async function service({ identity, home }: InstalledHost, places: Places): Promise<Finding[]> {
  if (!identity)
    return [
      {
        check: "identity",
        state: "fail",
        detail: `no host has joined in ${home}`,
        fix: "`agent-host install --url … --token …` with a fresh token.",
      },
    ];
  const joined = {
    check: "identity",
    state: "ok",
    detail: `${identity.name} (${identity.host_id})`,
  } as const;
  const [active, daemon] = await Promise.all([unitIsActive(), daemonStatus(places)]);
  if (active && daemon?.pid) {
    const { version, pid, sessions } = daemon;
    const detail = `${version} runs as ${pid}, with ${sessions.length} ${sessions.length === 1 ? "session" : "sessions"}`;
    return [joined, { check: "daemon", state: "ok", detail }];
  }
  return [
    joined,
    {
      check: "daemon",
      state: "fail",
      detail: active ? "its unit runs, and it does not" : "does not run",
      fix: "`systemctl restart sandbar-host`; `journalctl -u sandbar-host -n 50` says why it ended.",
    },
  ];
}
