/** @module What Podman, which speaks Docker's API, takes differently or has not. Decided here, without I/O. */
import type { Capability } from "@sandbar/shared";

/** Its networks have none of the chains in which sessions are kept from this machine, and nothing keeps them apart. */
const LACKING: readonly Capability[] = ["egress", "dependencies"];

export function inPodman(capabilities: readonly Capability[]): Capability[] {
  return capabilities.filter((capability) => !LACKING.includes(capability));
}

/** It knows no owner of a tmpfs; there is one user in the container, for whom it may as well be open. */
export function tmpfsInPodman(tmpfs: Readonly<Record<string, string>>): Record<string, string> {
  const open = (options: string) => options.replace(/,mode=\d+,uid=\d+,gid=\d+$/, ",mode=1777");
  return Object.fromEntries(Object.entries(tmpfs).map(([place, options]) => [place, open(options)]));
}
