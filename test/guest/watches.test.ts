import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { FileChange } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { watchGuest, writeToGuest } from "../../agent-host/src/guest/guest-transfers.ts";
import { eventually } from "../fixtures/stack.ts";
import { FileSandbox } from "./file-sandbox.ts";

describe.each([
  ["inotify", []],
  ["a look every second", ["SANDBAR_POLL_WATCHES=1"]],
])("a watch by %s", (_method, env) => {
  let sandbox: FileSandbox;

  beforeAll(async () => {
    sandbox = await FileSandbox.start({ env });
  });
  afterAll(() => sandbox?.stop());

  /** What is told from the beginning of `script` until after its end. */
  async function told(folder: string, script: () => Promise<unknown>): Promise<FileChange[]> {
    const stream = await watchGuest(sandbox, { path: folder });
    let text = "";
    stream.on("data", (chunk) => {
      text += chunk;
    });
    stream.resume();
    try {
      await script();
      await sandbox.bash(`touch ${folder}/last`);
      await eventually("the last change", 10_000, () => text.includes('"last"'));
      return text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    } finally {
      stream.destroy();
    }
  }

  it("tells nothing of a folder that has been moved elsewhere, and all of one that comes back", async () => {
    await sandbox.bash("mkdir -p moved/a/b elsewhere");
    const away = await told("moved", async () => {
      await sandbox.bash("mv moved/a elsewhere/a");
      await sleep(1500);
      await sandbox.bash("touch elsewhere/a/x elsewhere/a/b/y");
    });
    expect(away.map(({ path }) => path)).not.toContain("a/x");
    expect(away.map(({ path }) => path)).not.toContain("a/b/y");
    expect(away).toContainEqual({ type: "deleted", path: "a", directory: true });
    const back = await told("moved", async () => {
      await sandbox.bash("mv elsewhere/a moved/c");
      await sleep(1500);
      await sandbox.bash("touch moved/c/b/z");
    });
    for (const path of ["c", "c/x", "c/b", "c/b/y", "c/b/z"])
      expect(back).toContainEqual({ type: "created", path, directory: ["c", "c/b"].includes(path) });
  });

  it("tells nothing of files on their way", async () => {
    await sandbox.bash("mkdir -p arriving");
    const slow = async function* () {
      yield Buffer.from("half");
      await sleep(1500);
      yield Buffer.from(" and half");
    };
    const changes = await told("arriving", () =>
      writeToGuest(sandbox, { path: "arriving/new/file", mkdirs: true }, Readable.from(slow())),
    );
    const paths = new Set(changes.map(({ path }) => path));
    expect(paths).toEqual(new Set(["new", "new/file", "last"]));
  });

  it("says so when there is more than it can watch", async () => {
    expect((await told("arriving", async () => {})).map(({ type }) => type)).not.toContain("overflow");
    await sandbox.bash("mkdir -p many/{1..2100}/{a,b,c,d,e,f,g,h,i}");
    expect(await told("many", async () => {})).toContainEqual({
      type: "overflow",
      path: "",
      directory: true,
    });
  });
});
