import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ensureByteCode } from "@sandbar/agent-host/setup/byte-code.ts";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const IMAGE = "sandbar/python:latest";
const docker = new Docker();
const log: string[] = [];
const say = (line: string) => log.push(line);
let folder: string;
const inFolder = (name: string) => path.join(folder, name);
const compiled = () => readdirSync(inFolder("guest/__pycache__")).filter((name) => name.endsWith(".pyc"));
const compiledAt = () => statSync(inFolder(`guest/__pycache__/${compiled()[0]}`)).ino;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "sandbar-byte-code-"));
  chmodSync(folder, 0o755);
  for (const name of ["guest", "kernels/python/sandbar_kernel"]) {
    mkdirSync(inFolder(name), { recursive: true });
    writeFileSync(inFolder(`${name}/module.py`), "answer = 42\n");
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("byte code of guest and kernels", () => {
  it("is made once, and again when a source changes", async () => {
    await ensureByteCode(docker, IMAGE, folder, say);
    expect(log).toEqual([]);
    expect(compiled()).toEqual([expect.stringMatching(/^module\.cpython-\d+\.pyc$/)]);
    expect(readdirSync(inFolder("kernels/python/sandbar_kernel/__pycache__"))).toHaveLength(1);
    const first = compiledAt();
    await ensureByteCode(docker, IMAGE, folder, say);
    expect(compiledAt()).toBe(first);
    writeFileSync(inFolder("guest/module.py"), "answer = 43\n");
    await ensureByteCode(docker, IMAGE, folder, say);
    expect(compiledAt()).not.toBe(first);
  });

  it("is done without when it cannot be made", async () => {
    writeFileSync(inFolder("guest/broken.py"), "def\n");
    await ensureByteCode(docker, IMAGE, folder, say);
    expect(log.join()).toMatch(/sessions start without it.*SyntaxError/s);
  });
});
