import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BindFolders } from "../src/box/bind-folders.ts";
import { isMounted, mountsFrom } from "../src/box/mounts.ts";
import { unmountBelow } from "../src/docker/host-traces.ts";
import { hostFolder } from "../src/host/identity.ts";
import { Journal } from "../src/journal/journal.ts";
import { LeftFolders } from "../src/session/left-folders.ts";
import { adoptSessions, type Reconciled } from "../src/session/reconcile.ts";
import { SPEC } from "./daemon-process.ts";

const log = pino({ level: "silent" });
let home: string;
let journal: Journal;
let folders: BindFolders;

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "sandbar-folders-"));
  mkdirSync(hostFolder(home), { recursive: true });
  journal = new Journal(home);
  folders = new BindFolders({ sessionsRoot: path.join(home, "sessions"), bindMb: 16, minFreeDiskMb: 1 }, log);
});
afterEach(async () => {
  journal.close();
  await unmountBelow(home);
  rmSync(home, { recursive: true });
});

const left = (bindTtlMs = 3_600_000) => new LeftFolders({ config: { bindTtlMs }, journal, folders, log });
const rootOf = (...parts: string[]) => path.join(home, "sessions", ...parts);
const live = async (session: string) => {
  journal.addFolder(session, `box_of_${session}`);
  return folders.provide(session);
};

describe("a BIND session's folder", () => {
  it("is a file system of its own while the session lives, and a plain one afterwards, with all that is in it", async () => {
    const folder = await live("ses_a");
    expect(readdirSync(folder)).toEqual([]);
    const [mount] = await mountsFrom(folder);
    expect(mount!.options).toEqual(expect.arrayContaining(["nosuid", "nodev"]));
    expect(() => writeFileSync(path.join(folder, "big"), Buffer.alloc(20_000_000))).toThrow(/ENOSPC/);
    writeFileSync(path.join(folder, "big"), "small");
    symlinkSync("/etc/passwd", path.join(folder, "link"));
    writeFileSync(path.join(folder, "tool"), "x");
    execFileSync("sh", [
      "-c",
      `cd ${folder} && mkfifo pipe && mkdir -p deep/er && ln big deep/er/same && chmod 4755 tool && chown 1234:1234 tool`,
    ]);
    execFileSync("chmod", ["4755", path.join(folder, "tool")]);
    await left().over("ses_a");
    expect(await mountsFrom(home)).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(["big", "deep", "link", "pipe", "tool"]);
    expect(readFileSync(path.join(folder, "deep/er/same"), "utf8")).toBe("small");
    expect(statSync(path.join(folder, "big")).nlink).toBe(2);
    expect(statSync(path.join(folder, "tool"))).toMatchObject({ uid: 1234, mode: 0o100755 });
    expect(readdirSync(rootOf(".sandbar"))).toEqual([]);
  });

  it("is mounted again after a restart of the machine, and one that was over becomes plain then", async () => {
    for (const session of ["ses_a", "ses_b"]) writeFileSync(path.join(await live(session), "mine"), session);
    journal.folderEnded("ses_b", Date.now());
    await unmountBelow(home);
    expect(existsSync(rootOf("ses_a", "mine"))).toBe(false);
    await left().start();
    for (const session of ["ses_a", "ses_b"])
      expect(readFileSync(rootOf(session, "mine"), "utf8")).toBe(session);
    expect([await isMounted(rootOf("ses_a")), await isMounted(rootOf("ses_b"))]).toEqual([true, false]);
  });

  it("goes when its time is over, or at once when somebody says so, but never under its session", async () => {
    const kept = left();
    for (const session of ["ses_a", "ses_b", "ses_c"]) await live(session);
    expect(await kept.calls["folders.remove"]({ session: "ses_a" })).toBe(true);
    await kept.sweep(() => false);
    expect(readdirSync(rootOf()).filter((name) => name !== ".sandbar")).toEqual(["ses_a", "ses_b", "ses_c"]);
    await kept.sweep(({ session, box }) => session === "ses_a" && box === "box_of_ses_a");
    expect(existsSync(rootOf("ses_a"))).toBe(false);
    await kept.over("ses_b");
    await kept.sweep(() => false);
    expect(existsSync(rootOf("ses_b"))).toBe(true);
    expect(await kept.calls["folders.remove"]({ session: "ses_b" })).toBe(true);
    expect(existsSync(rootOf("ses_b"))).toBe(false);
    expect(await kept.calls["folders.remove"]({ session: "ses_b" })).toBe(false);
    journal.folderEnded("ses_c", Date.now() - 2000);
    await left(0).sweep(() => false);
    expect(existsSync(rootOf("ses_c"))).toBe(true);
    await left(1000).sweep(() => false);
    expect(readdirSync(rootOf())).toEqual([".sandbar"]);
    expect(readdirSync(rootOf(".sandbar"))).toEqual([]);
    expect(journal.folders()).toEqual([]);
  });

  it("is accounted for though an earlier daemon did not, and goes as others do", async () => {
    const states = { ses_a: "ready", ses_b: "stopped", ses_c: "failed", ses_d: "ready" } as const;
    for (const [id, state] of Object.entries(states))
      journal.addSession({
        ...{ id, state, tenant: "test", context: "main", box: `box_of_${id}`, sandbox: null, token: "" },
        ...{ spec: { ...SPEC, storage: id === "ses_d" ? "TMPFS" : "BIND" }, report: { state: "creating" } },
      });
    journal.addFolder("ses_b", "box_of_ses_b");
    journal.folderEnded("ses_b", 5);
    mkdirSync(rootOf("ses_a"), { recursive: true });
    const kept = left();
    /** No containers: every session is found dead. */
    const fakes = {
      engine: { list: async () => [] },
      removals: { resume: () => {} },
      pool: { adopt: async () => {} },
      sessions: { restore: () => ({ died: () => {} }) },
    };
    await adoptSessions({ ...fakes, journal, leftFolders: kept } as unknown as Reconciled);
    expect(journal.folders()).toEqual([
      { session: "ses_a", box: "box_of_ses_a", ended: null, unwanted: false },
      { session: "ses_b", box: "box_of_ses_b", ended: 5, unwanted: false },
    ]);
    await kept.over("ses_a");
    expect(await kept.calls["folders.remove"]({ session: "ses_a" })).toBe(true);
    expect(existsSync(rootOf("ses_a"))).toBe(false);
  });

  it("that cannot go keeps no other from going, and goes when it can", async () => {
    const gone = rootOf("ses_a");
    for (const session of ["ses_a", "ses_b"]) {
      await live(session);
      await left().over(session);
      journal.folderUnwanted(session);
    }
    execFileSync("mkdir", [path.join(gone, "busy")]);
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", path.join(gone, "busy")]);
    const kept = left();
    await Promise.all([kept.sweep(() => false), kept.finished()]);
    expect(journal.folders().map(({ session }) => session)).toEqual(["ses_a"]);
    expect(existsSync(rootOf("ses_b"))).toBe(false);
    execFileSync("umount", [path.join(gone, "busy")]);
    await kept.sweep(() => false);
    expect(journal.folders()).toEqual([]);
    expect(existsSync(gone)).toBe(false);
  });

  it("is gone when its removal was answered, though it was just being settled", async () => {
    const kept = left();
    await live("ses_a");
    const ending = kept.over("ses_a");
    expect(await kept.calls["folders.remove"]({ session: "ses_a" })).toBe(true);
    expect(existsSync(rootOf("ses_a"))).toBe(false);
    await ending;
    expect(journal.folders()).toEqual([]);
  });

  it("that a crash left half settled is settled whole", async () => {
    writeFileSync(path.join(await live("ses_a"), "mine"), "all of it");
    await unmountBelow(home);
    writeFileSync(rootOf("ses_a", "mine"), "half");
    writeFileSync(rootOf("ses_a", "of before"), "");
    mkdirSync(rootOf(".sandbar", "ses_a.view"));
    execFileSync("mount", ["--bind", rootOf(), rootOf(".sandbar", "ses_a.view")]);
    await left().over("ses_a");
    expect(readFileSync(rootOf("ses_a", "mine"), "utf8")).toBe("all of it");
    expect(readdirSync(rootOf("ses_a"))).toEqual(["mine"]);
    expect(await mountsFrom(home)).toEqual([]);
    expect(readdirSync(rootOf(".sandbar"))).toEqual([]);
  });
});
