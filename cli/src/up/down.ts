/**
 * `npm run down`: stops a running product and removes what it made on this machine: sessions, containers, mounts,
 * networks. Artifacts, keys and metadata stay; `--purge` removes SANDBAR_HOME whole, and images of earlier recipes.
 *
 * @module
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { IMAGE_NAMES, imageRef } from "@sandbar/agent-host/setup/images.ts";
import { removeOldImages } from "@sandbar/agent-host/setup/old-images.ts";
import { boxesFolder } from "@sandbar/agent-host/src/box/box-folders.ts";
import { removeContainersLeft } from "@sandbar/agent-host/src/containers-left.ts";
import { unmountBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import { settleFoldersLeft } from "@sandbar/agent-host/src/folders-left.ts";
import { readConfig } from "@sandbar/agent-host/src/host/config.ts";
import { createLog } from "@sandbar/agent-host/src/host/log.ts";
import { endGuests } from "@sandbar/agent-host/src/wasm/guest-process.ts";
import Docker from "dockerode";
import { argumentsOf } from "./arguments.ts";
import { homeFromEnv, runningSupervisor } from "./home.ts";

const HELP = `Stops Sandbar and removes its containers, mounts and networks. Artifacts, keys and metadata stay.

Usage: npm run down [-- --purge]   (or sandbar down [--purge])

  --purge   also remove SANDBAR_HOME, and sandbox images of earlier recipes that no container uses;
            the images of this checkout stay for the next start`;

const { purge } = argumentsOf(HELP, { purge: { type: "boolean" } });
const home = homeFromEnv();
const pid = runningSupervisor(home);
if (pid !== null) {
  process.kill(pid, "SIGTERM");
  for (let i = 0; i < 200 && runningSupervisor(home) !== null; i++) await sleep(100);
  if (runningSupervisor(home) !== null) {
    console.error(`Sandbar (pid ${pid}) does not stop; nothing was removed. See ${home.logs}`);
    process.exit(1);
  }
  console.log(`stopped Sandbar (pid ${pid})`);
}

await endGuests(home.root);
if (existsSync(home.identityFile)) {
  const { host_id } = JSON.parse(readFileSync(home.identityFile, "utf8")) as { host_id: string };
  try {
    const removed = await removeContainersLeft(home.root, host_id);
    if (removed > 0) console.log(`removed ${removed} containers`);
  } catch (error) {
    console.error(`Docker could not remove the containers: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

await settleFoldersLeft(readConfig({ ...process.env, SANDBAR_HOME: home.root }), createLog("warn"));
await unmountBelow(home.root);
rmSync(boxesFolder(home.root), { recursive: true, force: true });
if (purge) {
  rmSync(home.root, { recursive: true, force: true });
  console.log(`removed ${home.root}`);
  try {
    for (const ref of await removeOldImages(new Docker(), IMAGE_NAMES.map(imageRef)))
      console.log(`removed the image ${ref}`);
    console.log(
      "images of this checkout stay; `docker image rm $(docker images -q 'sandbar/*')` removes them",
    );
  } catch (error) {
    console.log(`images were not looked for, since Docker does not answer: ${(error as Error).message}`);
  }
}
