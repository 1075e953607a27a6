/** @module Whether there is a Docker engine at all. One that is only slow to start must not turn a host into another kind. */
import { existsSync } from "node:fs";
import Docker from "dockerode";

const SOCKETS = ["/var/run/docker.sock", "/run/docker.sock"];

export async function dockerAnswers(): Promise<boolean> {
  if (process.env.DOCKER_HOST || SOCKETS.some((socket) => existsSync(socket))) return true;
  return new Docker().ping().then(
    () => true,
    () => false,
  );
}
