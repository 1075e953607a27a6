/** @module What answers at Docker's API, and whether this daemon is in one of its containers. */
import type Docker from "dockerode";
import { findOwnContainer, type OwnContainer } from "./own-container.ts";

export interface FoundEngine {
  readonly docker: Docker;
  /** Podman speaks Docker's API, with differences. */
  readonly podman: boolean;
  readonly own: OwnContainer | null;
}

export async function findEngine(docker: Docker): Promise<FoundEngine> {
  const { Components = [] } = (await docker.version()) as { Components?: { Name: string }[] };
  const podman = Components.some(({ Name }) => Name === "Podman Engine");
  return { docker, podman, own: await findOwnContainer(docker) };
}
