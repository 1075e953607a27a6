import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import Docker from "dockerode";
import pino from "pino";
import { expect, it } from "vitest";
import { readConfig } from "../host/config.ts";
import { poolSpec } from "../pool/pool-key.ts";
import { Containers } from "./containers.ts";
import { Users } from "./users.ts";

it("no container is made without the seccomp profile, be it missing or damaged", async () => {
  const imagesDir = mkdtempSync(path.join(tmpdir(), "sandbar-images-"));
  const config = readConfig({ SANDBAR_IMAGES_DIR: imagesDir, SANDBAR_HOME: imagesDir });
  // Nobody answers there: what is refused must not even have asked.
  const docker = new Docker({ socketPath: path.join(imagesDir, "no.sock") });
  const containers = new Containers(
    config,
    "h",
    { docker, podman: false, own: null },
    new Users(config),
    pino({ level: "silent" }),
  );
  const made = () =>
    containers.create(poolSpec(config, "python"), {
      ...{ session: null, box: "b", image: "i", runFolder: "/r", user: 1, passwd: "/p" },
      storage: { binds: [], tmpfs: {} },
    });
  const refusal = /seccomp profile could not be read/;
  try {
    await expect(made()).rejects.toThrow(refusal);
    writeFileSync(path.join(imagesDir, "seccomp.json"), "{");
    await expect(made()).rejects.toThrow(refusal);
    writeFileSync(path.join(imagesDir, "seccomp.json"), "{}");
    await expect(made()).rejects.not.toThrow(refusal);
  } finally {
    rmSync(imagesDir, { recursive: true });
  }
});
