import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ENGINES } from "@sandbar/shared";
import pino from "pino";
import { expect, it, onTestFinished } from "vitest";
import { BindFolders } from "../box/bind-folders.ts";
import { readConfig } from "../host/config.ts";
import { poolSpec } from "../pool/pool-key.ts";
import { inPodman, tmpfsInPodman } from "./podman.ts";
import { prepareStorage } from "./storage.ts";

it("Podman offers everything but the network, and what needs it", () => {
  const all = ENGINES.container.capabilities;
  const lacking = all.filter((capability) => !inPodman(all).includes(capability));
  expect(lacking.sort()).toEqual(["dependencies", "egress"]);
});

it("Podman's tmpfs has no owner, whatever storage asks of Docker's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-podman-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = { ...readConfig({ SANDBAR_HOME: folder }), mountsAreSeen: false };
  const spec = poolSpec(config, "python");
  const log = pino({ level: "silent" });
  const parts = { config, bindFolders: new BindFolders(config, log) };
  const { tmpfs } = await prepareStorage(parts, null, spec, { folder, user: 65532, volumes: [] }, false, log);
  expect(tmpfs["/session"]).toContain("uid=65532");
  const taken = tmpfsInPodman(tmpfs);
  expect(Object.keys(taken)).toEqual(["/tmp", "/dev/shm", "/session"]);
  for (const options of Object.values(taken))
    expect(options).toMatch(/^rw,nosuid,nodev,exec,size=\d+m,mode=1777$/);
});
