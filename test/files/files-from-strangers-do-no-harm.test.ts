import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { FileClient } from "../fixtures/files.ts";
import { pax, type TarEntry, tar } from "../fixtures/tar.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("files that no honest program made do no harm", () => {
  const { client } = useStack();
  let files: FileClient;
  let session: string;

  beforeAll(async () => {
    session = (await client.create()).id;
    files = new FileClient(client, session);
  });

  const sh = (command: string) => client.run(session, command, { language: "bash" });
  const extract = (path: string, archive: Buffer, type = "application/x-tar") =>
    files.raw("PUT", { path, extract: true }, archive, { "content-type": type });

  /** Where its files are depends on the host's version of cgroups. */
  const firstBelow = async (folder: string) =>
    (
      await client.run(
        session,
        `import os; next(os.path.join(d, fs[0]) for d, _, fs in os.walk("${folder}") if fs)`,
      )
    ).text!.slice(1, -1);

  it("refuses FIFOs, sockets, devices and the kernel's own files at once, with the reason", async () => {
    await client.run(
      session,
      `import os, socket
os.mkfifo("/session/fifo")
socket.socket(socket.AF_UNIX).bind("/session/socket")
os.symlink("/session/fifo", "/session/to-fifo")
os.symlink("/proc/1/environ", "/session/to-proc")
os.symlink("loop", "/session/loop")`,
    );
    const refusals: [string, number, string, RegExp][] = [
      ["fifo", 422, "NOT_A_FILE", /fifo/],
      ["to-fifo", 422, "NOT_A_FILE", /fifo/],
      ["socket", 422, "NOT_A_FILE", /socket/],
      ["/dev/zero", 422, "NOT_A_FILE", /device/],
      ["/proc/self/mem", 422, "NOT_A_FILE", /\/proc/],
      ["/proc/1/environ", 422, "NOT_A_FILE", /\/proc/],
      ["to-proc", 422, "NOT_A_FILE", /\/proc/],
      ["/proc/cpuinfo", 422, "NOT_A_FILE", /\/proc/],
      ["/sys/kernel/mm/transparent_hugepage/enabled", 422, "NOT_A_FILE", /\/sys/],
      [await firstBelow("/sys/fs/cgroup"), 422, "NOT_A_FILE", /\/sys/],
      ["loop", 400, "PATH_INVALID", /./],
    ];
    for (const [path, status, code, detail] of refusals) {
      const answer = await files.get(path);
      expect([path, answer.status, answer.problem.code]).toEqual([path, status, code]);
      expect(answer.problem.detail).toMatch(detail);
      expect([path, (await files.raw("HEAD", { path })).status]).toEqual([path, status]);
    }
    for (const path of ["fifo", "socket", "/dev/null"])
      expect([path, (await files.raw("PUT", { path }, "x")).problem.code]).toEqual([path, "NOT_A_FILE"]);
  });

  it("does not wake whoever waits at a FIFO", async () => {
    await sh("(echo hello > /session/fifo; echo woken > /session/woken) > /dev/null 2>&1 &");
    await files.get("fifo");
    await files.get(".");
    expect((await files.get("woken")).status).toBe(404);
    expect((await sh("cat /session/fifo")).stdout).toBe("hello\n");
  });

  it("follows a symlink to read, replaces it to write, and shows it as what it is", async () => {
    await files.put("target.txt", "target");
    await sh("ln -sfn target.txt /session/link.txt; ln -sfn /nowhere /session/dangling");
    expect((await files.get("link.txt")).bytes.toString()).toBe("target");
    expect(await files.stat("link.txt")).toMatchObject({ type: "symlink", target: "target.txt" });
    expect((await files.get("dangling")).status).toBe(404);
    await files.put("link.txt", "new");
    expect((await files.stat("link.txt")).type).toBe("file");
    expect((await files.get("target.txt")).bytes.toString()).toBe("target");
    await sh("mkdir -p /session/real; ln -sfn real /session/folder-link; touch /session/real/kept");
    expect((await files.raw("DELETE", { path: "folder-link", recursive: true })).status).toBe(204);
    expect((await files.get("real/kept")).status).toBe(200);
  });

  it("gives a folder as tar and takes one back", async () => {
    await sh(`mkdir -p /session/tree/sub "/session/tree/empty dir"; cd /session/tree
      echo one > one; echo two > "sub/two words"; chmod 755 one; ln -s ../one sub/link; mkfifo pipe
      printf x > $'new\\nline'; printf y > $'bad\\xff'; printf z > "$(printf 'n%.0s' {1..255})"`);
    const { status, headers, bytes } = await files.get("tree");
    expect([status, headers["content-type"]]).toEqual([200, "application/x-tar"]);
    expect(headers["content-disposition"]).toContain('filename="tree.tar"');
    const folder = mkdtempSync(join(tmpdir(), "sandbar-tar-"));
    try {
      writeFileSync(join(folder, "tree.tar"), bytes);
      const listed = execFileSync("tar", ["-tf", join(folder, "tree.tar")], { encoding: "utf8" });
      expect(listed).toContain("sub/two words");
      expect(listed).not.toContain("pipe");
    } finally {
      rmSync(folder, { recursive: true });
    }
    for (const [name, archive, type] of [
      ["plain", bytes, "application/x-tar"],
      ["zipped", gzipSync(bytes), "application/gzip"],
    ] as const) {
      const answer = await extract(name, archive, type);
      expect([answer.status, JSON.parse(answer.bytes.toString()).entries]).toEqual([201, 8]);
      expect(
        (await sh(`cd /session; diff -r --no-dereference -x pipe tree ${name} && ls -l ${name}/one`)).stdout,
      ).toMatch(/^-rwxr-xr-x/);
    }
    expect(
      (await files.raw("PUT", { path: "x", extract: true }, "x", { "content-type": "text/plain" })).status,
    ).toBe(415);
  });

  it("refuses a folder with something that cannot be read, at once, and says what it is", async () => {
    await sh(
      "mkdir /session/shut; cd /session/shut; touch {1..200}; mkdir x; echo secret > x/y; chmod 0 x/y",
    );
    for (const mode of ["755", "0"]) {
      await sh(`chmod ${mode} /session/shut/x`);
      const { status, problem } = await files.get("shut");
      expect([status, problem?.code]).toEqual([403, "PATH_NOT_PERMITTED"]);
      expect(problem.detail).toContain("shut/x");
    }
    await sh("chmod 755 /session/shut/x; rm -r /session/shut");
  });

  it("adds an archive to what is there, replacing files and never following links that were there before", async () => {
    await sh(
      "mkdir -p /session/merge/sub /tmp/outside; echo old > /session/merge/sub/a; echo kept > /session/merge/sub/b; ln -s /tmp/outside /session/merge/trap",
    );
    const merged = await extract("merge", tar({ name: "sub/a", content: "new" }));
    expect(merged.status).toBe(201);
    expect((await sh("cat /session/merge/sub/a /session/merge/sub/b")).stdout).toBe("newkept\n");
    const trapped = await extract(
      "merge",
      tar({ name: "trap/x", content: "out" }, { name: "sub/c", content: "c" }),
    );
    expect([trapped.status, trapped.problem.code]).toEqual([409, "PATH_EXISTS"]);
    expect((await sh("ls -A /tmp/outside")).stdout).toBe("");
  });

  it.each([
    ["a folder where there is a file", "echo old > /session/way/in", { name: "in/x", content: "new" }],
    ["a file where there is a folder", "mkdir /session/way/in", { name: "in", content: "new" }],
    ["a file for a folder that is shut", "mkdir -m 555 /session/way/in", { name: "in/x", content: "new" }],
  ])("unpacks nothing of an archive with %s", async (_what, before, entry) => {
    await sh(`rm -rf /session/way; mkdir /session/way; echo old > /session/way/m; ${before}`);
    const others = Array.from("abcmxyz", (name) => ({ name, content: "new" }));
    const answer = await extract("way", tar(entry, ...others));
    expect([403, 409]).toContain(answer.status);
    expect((await files.list({ path: "way", depth: 5 })).data.map(({ name }) => name)).toEqual(["in", "m"]);
    expect((await sh("cat /session/way/m")).stdout).toBe("old\n");
  });

  const hostile: [string, TarEntry[]][] = [
    ["an absolute name", [{ name: "/tmp/evil", content: "x" }]],
    ["a name that climbs", [{ name: "../evil", content: "x" }]],
    ["a name that climbs later", [{ name: "a/../../evil", content: "x" }]],
    ["a character device", [{ name: "dev", type: "3" }]],
    ["a block device", [{ name: "dev", type: "4" }]],
    ["a FIFO", [{ name: "fifo", type: "6" }]],
    ["a symlink to an absolute path", [{ name: "l", type: "2", link: "/etc" }]],
    ["a symlink that climbs out", [{ name: "a/l", type: "2", link: "../../out" }]],
    [
      "a symlink through a symlink",
      [
        { name: "p/q/r/u", type: "2", link: "../.." },
        { name: "v", type: "2", link: "p/q/r/u/../.." },
      ],
    ],
    [
      "a file written through a symlink",
      [
        { name: "l", type: "2", link: "." },
        { name: "l/x", content: "x" },
      ],
    ],
    [
      "a folder that was a link",
      [
        { name: "l", type: "2", link: "x" },
        { name: "l", type: "5" },
      ],
    ],
    ["a hard link to something outside", [{ name: "h", type: "1", link: "/etc/passwd" }]],
    ["a hard link that climbs", [{ name: "h", type: "1", link: "../../etc/passwd" }]],
    [
      "a hard link to a symlink",
      [
        { name: "s", type: "2", link: "x" },
        { name: "h", type: "1", link: "s" },
      ],
    ],
    [
      "a long name that climbs",
      [
        { name: "x", type: "x", content: pax({ path: "../../evil" }) },
        { name: "x", content: "x" },
      ],
    ],
    [
      "a link target in extended headers",
      [
        { name: "x", type: "x", content: pax({ linkpath: "/etc" }) },
        { name: "x", type: "2" },
      ],
    ],
    [
      "a GNU long name that is absolute",
      [
        { name: "././@LongLink", type: "L", content: "/tmp/evil\0" },
        { name: "x", content: "x" },
      ],
    ],
    ["an extended header of gigabytes", [{ name: "x", type: "x", size: 0o77777777777 }]],
    ["a long name of gigabytes", [{ name: "x", type: "L", size: 0o77777777777 }]],
    ["a sparse entry", [{ name: "x", type: "S", content: "x" }]],
    ["a file that is cut short", [{ name: "x", content: "x", size: 5_000_000 }]],
    [
      "a name over 255 bytes",
      [{ name: "x", type: "x", content: pax({ path: "y".repeat(256) }) }, { name: "x" }],
    ],
  ];

  it.each(hostile)("unpacks nothing of an archive with %s", async (_what, entries) => {
    const answer = await extract("victim", tar({ name: "before", content: "x" }, ...entries));
    expect([answer.status, answer.problem?.code]).toEqual([422, "ARCHIVE_INVALID"]);
    expect((await files.list({ path: "victim", depth: 5 })).data).toEqual([]);
    expect((await sh("ls /tmp/evil /session/evil /session/out 2>/dev/null; echo")).stdout).toBe("\n");
  });

  it.each([
    ["text", Buffer.from("this is not a tar archive".repeat(100))],
    ["half a header", tar({ name: "x", content: "x" }).subarray(0, 300)],
    ["gzip where tar was said", gzipSync(tar({ name: "x", content: "x" }))],
    ["what ends within its second header", tar({ name: "x", content: "x" }, { name: "y" }).subarray(0, 1100)],
    [
      "what has something else where its second header should be",
      tar({ name: "x", content: "x" }).fill(1, 1024),
    ],
  ])("refuses %s as an archive", async (_what, bytes) => {
    const answer = await extract("victim", bytes);
    expect([answer.status, answer.problem?.code]).toEqual([422, "ARCHIVE_INVALID"]);
    expect((await files.list({ path: "victim", depth: 5 })).data).toEqual([]);
  });

  it("never gives setuid, and clears what others may write", async () => {
    await extract(
      "modes",
      tar({ name: "s", content: "x", mode: 0o6777 }, { name: "d", type: "5", mode: 0o0 }),
    );
    expect((await files.stat("modes/s")).mode).toBe(0o755);
    expect((await files.stat("modes/d")).mode).toBe(0o700);
  });

  it("answers as before after all of this", async () => {
    expect((await client.run(session, "1 + 1")).text).toBe("2");
    expect((await sh("ls -A /session | grep -c part")).stdout).toBe("0\n");
  });
});
