/** @module Where an installed host keeps what: the same on every machine, below `root`. */
import { lstatSync } from "node:fs";
import path from "node:path";
import { linkTarget } from "./steps.ts";

export const UNIT = "sandbar-host";

export interface Places {
  /** Versions of the program, each in a folder of its own. */
  readonly releases: string;
  /** A link to the one that runs. */
  readonly current: string;
  /** The command: that release, its Node, this host's settings. */
  readonly launcher: string;
  /** Where shells look for it. */
  readonly command: string;
  readonly settings: string;
  readonly unit: string;
  /** SANDBAR_HOME, unless the settings name another one. */
  readonly home: string;
}

export function placesBelow(root = "/"): Places {
  const at = (place: string) => path.join(path.resolve(root), place);
  return {
    releases: at("opt/sandbar/releases"),
    current: at("opt/sandbar/current"),
    launcher: at("opt/sandbar/agent-host"),
    command: at("usr/local/bin/agent-host"),
    settings: at("etc/sandbar-host.env"),
    unit: at(`etc/systemd/system/${UNIT}.service`),
    home: at("var/lib/sandbar"),
  };
}

/** Whether nobody else's command has the name: npm may have put one there. */
export function commandIsOurs({ command, launcher }: Places): boolean {
  return !lstatSync(command, { throwIfNoEntry: false }) || linkTarget(command) === launcher;
}
