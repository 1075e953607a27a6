import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  readFromGuest,
  tarFromGuest,
  untarToGuest,
  watchGuest,
  writeToGuest,
} from "../../agent-host/src/guest/guest-transfers.ts";
import { tar } from "../fixtures/tar.ts";
import { FileSandbox } from "./file-sandbox.ts";

const MB = 1024 * 1024;

describe("transfers between daemon and guest", () => {
  let sandbox: FileSandbox;

  beforeAll(async () => {
    sandbox = await FileSandbox.start({ env: ["SANDBAR_POLL_WATCHES=1"] });
  });
  afterAll(() => sandbox?.stop());

  const bytesOf = async (stream: Readable) => Buffer.concat((await stream.toArray()) as Buffer[]);

  it("takes no connection from a stranger in the sandbox, whatever it says", async () => {
    const dial = (line: string) =>
      sandbox.bash(`python3 -c '
import socket
s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect("/run/sandbar/daemon.sock")
s.sendall(b"""${line}\\n""")
try:
    print("closed" if s.recv(10) == b"" else "answered")
except ConnectionResetError:
    print("closed")'`);
    const expected = sandbox.transfers.expect();
    try {
      for (const token of ["", "x", "u".repeat(43)])
        expect(await dial(`{"type":"transfer","token":"${token}","transfer":"${expected.id}"}`)).toBe(
          "closed\n",
        );
      expect(await dial(`{"type":"transfer","transfer":"${expected.id}"}`)).toBe("closed\n");
      expect(await dial(`{"type":"transfer","token":"${"t".repeat(43)}","transfer":"unknown"}`)).toBe(
        "closed\n",
      );
      expect(await dial("x".repeat(2000))).toBe("closed\n");
    } finally {
      expected.cancel();
    }
    expect(sandbox.transfers.size).toBe(0);
  });

  it("keeps quick looks quick while eight transfers stand still", async () => {
    await writeToGuest(sandbox, { path: "large" }, Readable.from([Buffer.alloc(30 * MB)]));
    const reads = await Promise.all(
      Array.from({ length: 8 }, () => readFromGuest(sandbox, { path: "large" })),
    );
    await sandbox.call("fs.stat", { path: "large" });
    const ninth = readFromGuest(sandbox, { path: "large", length: 10 });
    await sleep(200);
    reads[0]!.stream.destroy();
    expect((await bytesOf((await ninth).stream)).length).toBe(10);
    for (const { stream } of reads) stream.destroy();
    await expect.poll(async () => (await sandbox.guestUse()).threads, { timeout: 20_000 }).toBe(1);
  });

  it("reads any window of a file", async () => {
    const bytes = randomBytes(100_000);
    await writeToGuest(sandbox, { path: "window" }, Readable.from([bytes]));
    for (const [params, from, to] of [
      [{ offset: 0, length: 0 }, 0, 0],
      [{ offset: 99_999 }, 99_999, 100_000],
      [{ offset: 100_000 }, 100_000, 100_000],
      [{ offset: 5, length: 500_000 }, 5, 100_000],
      [{ last: 3 }, 99_997, 100_000],
      [{ last: 500_000 }, 0, 100_000],
    ] as const) {
      const { info, stream } = await readFromGuest(sandbox, { path: "window", ...params });
      expect([params, info.offset, info.length]).toEqual([params, from, to - from]);
      expect((await bytesOf(stream)).equals(bytes.subarray(from, to))).toBe(true);
    }
    const outside = await readFromGuest(sandbox, { path: "window", offset: 100_001 });
    expect(outside.info.unsatisfiable).toBe(true);
    await expect(readFromGuest(sandbox, { path: "window", offset: -1 })).rejects.toThrow("negative");
  });

  it("refuses a symlink unless told to follow", async () => {
    await sandbox.bash("ln -sf /session/window /session/link");
    await expect(readFromGuest(sandbox, { path: "link" })).rejects.toMatchObject({ code: "NOT_A_FILE" });
    expect((await readFromGuest(sandbox, { path: "link", follow: true })).info.size).toBe(100_000);
  });

  it("fails an archive whose file shrinks, and one that is cut", async () => {
    await sandbox.bash("mkdir -p tree && head -c 50000000 /dev/zero > tree/shrinks");
    const stream = await tarFromGuest(sandbox, { path: "tree" });
    await sandbox.bash("truncate -s 10 tree/shrinks");
    await expect(bytesOf(stream)).rejects.toThrow();
    await sandbox.bash("rm tree/shrinks; echo 1 > tree/one");
    const whole = await bytesOf(await tarFromGuest(sandbox, { path: "tree" }));
    const cut = Readable.from(
      (async function* () {
        yield whole;
        throw new Error("the source failed");
      })(),
    );
    await expect(untarToGuest(sandbox, { path: "unpacked" }, cut)).rejects.toThrow();
    expect(await sandbox.bash("ls -A /session/unpacked")).toBe("");
    expect((await untarToGuest(sandbox, { path: "unpacked" }, Readable.from([whole]))).entries).toBe(1);
  });

  it("packs what a session was only when it could come back, and names what could not", async () => {
    const take = async () => bytesOf(await tarFromGuest(sandbox, { path: "own", own: true }));
    const refusal = (reason: string) => ({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining(reason),
    });
    await sandbox.bash("mkdir -p own/sub && truncate -s 100G own/sub/holes");
    await expect(take()).rejects.toMatchObject(refusal("sub/holes"));
    await sandbox.bash("truncate -s 150M own/sub/holes && ln own/sub/holes own/sub/same");
    await expect(take()).rejects.toMatchObject(refusal("sub/same"));
    await sandbox.bash("rm -r own/sub && mkdir -p own/$(printf 'd/%.0s' {1..200})");
    const whole = await take();
    const back = await untarToGuest(sandbox, { path: "back", own: true }, Readable.from([whole]));
    expect(back.entries).toBe(200);
    await sandbox.bash("touch own/$(printf 'd/%.0s' {1..200})file");
    await expect(take()).rejects.toMatchObject(refusal("d/d/d"));
    await sandbox.bash("rm -r own back");
  });

  it("lists what can be seen around a folder that cannot be entered", async () => {
    await sandbox.bash(
      "mkdir -p /session/seen/a /session/seen/b && touch /session/seen/a/in /session/seen/b/in && chmod 400 /session/seen/a",
    );
    const list = async (path: string) => {
      const { entries } = (await sandbox.call("fs.list", { path, depth: 2 })) as {
        entries: { path: string }[];
      };
      return entries.map((entry) => entry.path.slice("/session/seen/".length));
    };
    expect(await list("seen")).toEqual(["a", "b", "b/in"]);
    await expect(list("seen/a")).rejects.toMatchObject({ code: "PATH_NOT_PERMITTED" });
    await sandbox.bash("chmod 700 /session/seen/a");
  });

  it("lists every file that stays while others go", async () => {
    const make = "mkdir -p /session/going && cd /session/going && touch stay-{0001..2500}";
    await sandbox.bash(make);
    for (let round = 0; round < 15; round++) {
      await sandbox.bash("cd /session/going && touch gone-{0001..1500}");
      const going = sandbox.bash("cd /session/going && rm gone-*");
      const seen = new Set<string>();
      let over = false;
      void going.then(() => {
        over = true;
      });
      do {
        seen.clear();
        for (let cursor: string | null = ""; cursor !== null; ) {
          const page = (await sandbox.call("fs.list", { path: "going", cursor })) as {
            entries: { name: string }[];
            next_cursor: string | null;
          };
          for (const { name } of page.entries) if (name.startsWith("stay")) seen.add(name);
          cursor = page.next_cursor;
        }
        expect(seen.size).toBe(2500);
      } while (!over);
    }
  });

  it("leaves everything as it was when an archive does not fit what is there", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `file-${i}`);
    const files = names.map((name) => ({ name, content: "new" }));
    await sandbox.bash(
      "mkdir -p /session/fit/folder /session/fit/deep /session/fit/shut && touch /session/fit/file /session/fit/deep/file && chmod 555 /session/fit/shut",
    );
    const before = await sandbox.bash("find /session/fit | sort");
    for (const [bad, code] of [
      ["file/below", "PATH_EXISTS"],
      ["folder", "PATH_EXISTS"],
      ["deep/file/below", "PATH_EXISTS"],
      ["shut/file", "PATH_NOT_PERMITTED"],
    ] as const) {
      const archive = Readable.from([tar({ name: bad, content: "x" }, ...files)]);
      const unpacked = untarToGuest(sandbox, { path: "fit" }, archive);
      await expect(unpacked, bad).rejects.toMatchObject({ code });
      expect(await sandbox.bash("find /session/fit | sort"), bad).toBe(before);
    }
  });

  it("says less than it was told when the length is wrong", async () => {
    const short = writeToGuest(sandbox, { path: "short", size: 10 }, Readable.from([Buffer.from("four")]));
    await expect(short).rejects.toMatchObject({ code: "TRANSFER_FAILED" });
    expect(await sandbox.bash("ls -A /session | grep -c 'short\\|part' || true")).toBe("0\n");
  });

  it("looks every second where the kernel has no watches left", async () => {
    await sandbox.bash("mkdir -p watched/sub");
    const stream = await watchGuest(sandbox, { path: "watched" });
    let text = "";
    stream.on("data", (chunk) => {
      text += chunk;
    });
    stream.resume();
    await sandbox.bash("echo 1 > watched/sub/new");
    for (let i = 0; i < 50 && !text.includes("sub/new"); i++) await sleep(100);
    expect(JSON.parse(text.split("\n").find((line) => line.includes("sub/new"))!)).toEqual({
      type: "created",
      path: "sub/new",
      directory: false,
    });
    await sandbox.bash("rm -r watched");
    for (let i = 0; i < 50 && !stream.destroyed && !stream.readableEnded; i++) await sleep(100);
    expect(text).toContain('"deleted"');
    stream.destroy();
  });
});
