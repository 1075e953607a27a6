import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { diskRefusal } from "./free-disk.ts";

const places = { home: tmpdir(), sessionsRoot: "/nowhere/at/all" };

it("new sessions are refused below the floor of free disk, with the setting's name, and never without a floor", () => {
  expect(diskRefusal({ ...places, minFreeDiskMb: 1 })).toBeNull();
  expect(diskRefusal({ ...places, minFreeDiskMb: 0 })).toBeNull();
  expect(diskRefusal({ ...places, minFreeDiskMb: 2 ** 50 })).toMatch(/SANDBAR_MIN_FREE_DISK_MB/);
});
