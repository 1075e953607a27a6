import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EXIT } from "../daemon.ts";
import { placesBelow } from "./places.ts";
import { OWN_NODE } from "./release.ts";
import { settingOf, withSettings } from "./settings-file.ts";
import { launcherFile, unitFile } from "./unit-file.ts";

it("a final exit of the daemon is not followed by another start", () => {
  const final = [EXIT.usage, EXIT.superseded, EXIT.removed].join(" ");
  expect(unitFile(placesBelow())).toContain(`\nRestartPreventExitStatus=${final}\n`);
});

it.skipIf(!existsSync("/usr/bin/systemd-analyze"))("the unit is one in systemd's own eyes", () => {
  const root = mkdtempSync(path.join(tmpdir(), "sandbar-unit-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const places = placesBelow(root);
  for (const file of [places.unit, places.launcher]) mkdirSync(path.dirname(file), { recursive: true });
  // Docker's own unit may not be on this machine.
  writeFileSync(places.unit, unitFile(places).replaceAll("docker.service ", ""));
  writeFileSync(places.launcher, launcherFile(places), { mode: 0o755 });
  expect(
    execFileSync("systemd-analyze", ["verify", "--man=no", places.unit], { encoding: "utf8", stdio: "pipe" }),
  ).toBe("");
  expect(() => {
    writeFileSync(places.unit, unitFile(places).replace("ExecStart=", "ExecStart=nowhere"));
    execFileSync("systemd-analyze", ["verify", "--man=no", places.unit], { stdio: "pipe" });
  }).toThrow();
});

it("the Node of an installed host is that of a clone", () => {
  const toolchain = readFileSync(new URL("../../../cli/setup/toolchain.mjs", import.meta.url), "utf8");
  expect(toolchain).toContain(`NODE_VERSION = "${OWN_NODE}"`);
});

it("settings that an operator wrote stay, and those of the installation are there once", () => {
  const before = "# ours\nSANDBAR_POOL_SIZE=4\nSANDBAR_HOME=/old\n";
  const after = withSettings(before, { SANDBAR_HOME: "/srv/sandbar", SANDBAR_MAX_SESSIONS: "9" });
  expect(after).toBe("# ours\nSANDBAR_POOL_SIZE=4\nSANDBAR_HOME=/srv/sandbar\nSANDBAR_MAX_SESSIONS=9\n");
  expect(withSettings(after, { SANDBAR_MAX_SESSIONS: "9" })).toBe(after);
  expect(settingOf(after, "SANDBAR_HOME")).toBe("/srv/sandbar");
  expect(settingOf('SANDBAR_HOME="/srv/a b"\n', "SANDBAR_HOME")).toBe("/srv/a b");
  expect(settingOf(after, "SANDBAR_URL")).toBeUndefined();
});
