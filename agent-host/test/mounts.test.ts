import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeBoxFolder } from "../src/box/box-folders.ts";
import {
  isMounted,
  mountInOrder,
  mountsFrom,
  mountTmpfs,
  readOnlySteps,
  unmount,
} from "../src/box/mounts.ts";

let home: string;
let files: string;

beforeEach(async () => {
  home = mkdtempSync(path.join(tmpdir(), "sandbar mounts' "));
  files = path.join(home, "box", "files");
  mkdirSync(files, { recursive: true });
  await mountTmpfs(files, 1);
});
afterEach(async () => {
  await unmount(files);
  rmSync(home, { recursive: true });
});

function folder(...parts: string[]): string {
  const made = path.join(files, ...parts);
  mkdirSync(made, { recursive: true });
  return made;
}

it("a read-only tree is one as far down as it goes, keeps its other options, and leaves its source alone", async () => {
  const source = folder("a source");
  await mountInOrder([["-t", "tmpfs", "-o", "noexec", "inner", folder("a source", "in ner")]]);
  const link = path.join(files, "link");
  symlinkSync(source, link);
  const target = folder("it's here");
  await mountInOrder([["--rbind", "--make-rprivate", link, target], ...(await readOnlySteps(link, target))]);
  const found = await mountsFrom(target);
  expect(found.map((mount) => [mount.path, mount.options.toSorted(), mount.shared])).toEqual([
    [target, ["nodev", "nosuid", "relatime", "ro"], false],
    [path.join(target, "in ner"), ["noexec", "relatime", "ro"], false],
  ]);
  expect(() => writeFileSync(path.join(target, "in ner", "x"), "")).toThrow("EROFS");
  writeFileSync(path.join(source, "in ner", "x"), "");
});

it("a step that fails ends the others", async () => {
  const target = folder("target");
  await expect(
    mountInOrder([
      ["--bind", path.join(files, "nothing"), target],
      ["--bind", folder("source"), target],
    ]),
  ).rejects.toThrow();
  expect(await isMounted(target)).toBe(false);
});

it("a box's folder is not removed while anything else is mounted in it", async () => {
  const kept = mkdtempSync(path.join(tmpdir(), "sandbar-kept-"));
  writeFileSync(path.join(kept, "precious"), "");
  const beside = path.join(home, "box", "beside");
  mkdirSync(beside);
  await mountInOrder([["--bind", kept, beside]]);
  try {
    await expect(removeBoxFolder(path.join(home, "box"))).rejects.toThrow("still mounted");
  } finally {
    execFileSync("umount", [beside]);
  }
  await removeBoxFolder(path.join(home, "box"));
  // Throws when it is gone.
  rmSync(path.join(kept, "precious"));
  rmSync(kept, { recursive: true });
});
