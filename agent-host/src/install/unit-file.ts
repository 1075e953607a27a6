/** @module What systemd is told of the daemon, and the command that it starts. */
import path from "node:path";
import type { Places } from "./places.ts";
import { MAIN_OF_RELEASE, NODE_OF_RELEASE } from "./release.ts";

/** Exits of the daemon after which another start would only do harm: wrong arguments, superseded, removed. */
const FINAL = [2, 3, 4];

export function unitFile({ launcher }: Places): string {
  return `[Unit]
Description=Sandbar host
After=docker.service network-online.target
Wants=docker.service network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=${launcher} run
# Not after a drain, which ends well. A full disk ends it until there is room again, so it is tried for as long as it takes.
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=${FINAL.join(" ")}
# Sessions in WebAssembly are processes of this unit, and run on without the daemon as containers do.
KillMode=process
TimeoutStopSec=30
LimitNOFILE=1048576
TasksMax=infinity
OOMScoreAdjust=-500

[Install]
WantedBy=multi-user.target
`;
}

/** Not the unit's own environment: whoever types `agent-host status` means this host, too. */
export function launcherFile({ current, settings }: Places): string {
  const [node, main] = [NODE_OF_RELEASE, MAIN_OF_RELEASE].map((file) => path.join(current, file));
  return `#!/bin/sh
exec ${node} --disable-warning=ExperimentalWarning --env-file-if-exists=${settings} ${main} "$@"
`;
}
