import { expect, test } from "vitest";
import { refusalOf } from "./engine-refusal.ts";

const limits = { MemoryLimit: true, PidsLimit: true, CgroupDriver: "systemd" };

test("Docker and Podman with root are used, and rootless Docker with limits", () => {
  expect(refusalOf({ ...limits, SecurityOptions: ["name=seccomp,profile=default"] }, ["Engine"])).toBeNull();
  expect(refusalOf({ ...limits, SecurityOptions: ["name=rootless"] }, ["Engine"])).toBeNull();
  expect(refusalOf({ ...limits, SecurityOptions: [] }, ["Podman Engine", "Conmon"])).toBeNull();
  expect(refusalOf({}, [])).toBeNull();
});

test("rootless Podman is refused by its name, since it says that it limits also where it does not", () => {
  const info = { ...limits, SecurityOptions: ["name=seccomp,profile=default", "name=rootless"] };
  expect(refusalOf(info, ["Podman Engine"])).toContain("This is rootless Podman");
  const before5 = { ...limits, SecurityOptions: ["name=seccomp,profile=default"], Rootless: true };
  expect(refusalOf(before5, ["Podman Engine"])).toContain("This is rootless Podman");
});

test("an engine without limits is refused", () => {
  for (const lack of [{ MemoryLimit: false }, { PidsLimit: false }, { CgroupDriver: "none" }])
    expect(refusalOf({ ...limits, ...lack }, ["Engine"])).toContain("cannot limit memory and processes");
});
