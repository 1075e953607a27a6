/** @module Engines that answer and are not used all the same: sessions there would not be what they promise to be. */
import type Docker from "dockerode";

interface EngineInfo {
  readonly MemoryLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly CgroupDriver?: string;
  readonly SecurityOptions?: readonly string[] | null;
  /** Podman's own; before version 5 it is the only word of it. */
  readonly Rootless?: boolean;
}

/** Null for one that will do. */
export async function engineRefusal(docker: Docker): Promise<string | null> {
  const [info, version] = await Promise.all([docker.info(), docker.version()]);
  const { Components = [] } = version as { Components?: { Name: string }[] };
  return refusalOf(
    info,
    Components.map(({ Name }) => Name),
  );
}

export function refusalOf(info: EngineInfo, components: readonly string[]): string | null {
  const podman = components.includes("Podman Engine");
  if (podman && (info.Rootless || info.SecurityOptions?.includes("name=rootless")))
    return (
      "This is rootless Podman, whose limits of memory and processes may be ignored, as with cgroup v1. " +
      "Use Podman as root (DOCKER_HOST=unix:///run/podman/podman.sock), or Docker."
    );
  if (info.MemoryLimit === false || info.PidsLimit === false || info.CgroupDriver === "none")
    return (
      "This engine cannot limit memory and processes of a container. Where it is rootless, let systemd delegate " +
      "cgroup v2 to its user; or use one that runs as root."
    );
  return null;
}
