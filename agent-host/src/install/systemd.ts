/** @module All that is asked of systemd, by its own command. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { UNIT } from "./places.ts";

const run = promisify(execFile);

export type SystemdVerb = "enable" | "disable" | "restart" | "stop";

export const systemctl = {
  reload: ["systemctl", "daemon-reload"],
  unit: (verb: SystemdVerb) => ["systemctl", verb, `${UNIT}.service`],
} as const;

/** Whether it manages this machine: where it does not, as in most containers, nothing would start the daemon. */
export async function systemdRuns(): Promise<boolean> {
  // It also says what it thinks of the machine, by a status that is not wanted here.
  const said = await run("systemctl", ["is-system-running"]).catch((error: { stdout?: string }) => error);
  return /^(running|degraded|starting|initializing|maintenance)$/.test(said.stdout?.trim() ?? "");
}

export async function unitIsActive(): Promise<boolean> {
  return run("systemctl", ["is-active", `${UNIT}.service`]).then(
    () => true,
    () => false,
  );
}
