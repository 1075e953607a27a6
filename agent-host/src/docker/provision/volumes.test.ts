import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { SessionSpec } from "@sandbar/shared";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Config } from "../../host/config.ts";
import type { Log } from "../../host/log.ts";
import type { Containers } from "../containers.ts";
import { SANDBOX_ID, Users } from "../users.ts";
import { Volumes } from "./volumes.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "sandbar-volumes-"));
});
afterEach(() => rmSync(home, { recursive: true }));

it.skipIf(process.getuid?.() !== 0)(
  "an older volume changes hands when no session from before has it any more",
  async () => {
    const folder = path.join(home, "volumes", "acme", "models");
    mkdirSync(folder, { recursive: true });
    chownSync(folder, SANDBOX_ID, SANDBOX_ID);
    const config = { home, users: { first: 70_000, last: 70_009 }, maxVolumeMb: 64 } as Config;
    const users = new Users(config);
    const mounted = new Set([folder]);
    const fakeContainers = { mountedFolders: async () => mounted } as Pick<Containers, "mountedFolders">;
    const volumes = new Volumes(config, fakeContainers as Containers, users, {} as Log);
    const spec = { volumes: [{ name: "models", path: "/models" }] } as SessionSpec;
    await expect(volumes.provide("acme", spec)).rejects.toMatchObject({ code: "VOLUME_IN_USE" });
    expect(statSync(folder).uid).toBe(SANDBOX_ID);
    mounted.clear();
    expect(await volumes.provide("acme", spec)).toEqual([`${folder}:/models:rw`]);
    expect(statSync(folder).uid).toBe(users.ofTenant("acme"));
    // Sessions of now share it.
    mounted.add(folder);
    expect(await volumes.provide("acme", spec)).toHaveLength(1);
  },
);
