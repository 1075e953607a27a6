import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "./fixture.ts";

const FEW_FILES = ["--ulimit", "nofile=256"];

describe("file descriptors that code has used up", () => {
  const cases: {
    language: string;
    image: string;
    plant: string;
    fill: string;
    says: RegExp;
    look: string;
  }[] = [
    {
      language: "python",
      image: "python",
      plant: "planted = 7",
      fill: "kept = []\nwhile True: kept.append(open('/dev/null'))",
      says: /Too many open files/,
      look: "print(planted)",
    },
    {
      language: "bash",
      image: "python",
      plant: "planted=7",
      fill: "while exec {kept}</dev/null; do :; done; false",
      says: /Too many open files/,
      look: "echo $planted",
    },
    {
      language: "node",
      image: "node",
      plant: "planted = 7",
      fill: "kept = []; for (;;) kept.push(require('node:fs').openSync('/dev/null'))",
      says: /too many open files/,
      look: "console.log(planted)",
    },
    {
      language: "r",
      image: "r",
      plant: "planted <- 7",
      fill: "kept <- list(); repeat kept[[length(kept) + 1]] <- file('/dev/null', 'rb')",
      says: /all \d+ connections are in use/,
      look: "cat(planted, '\\n', sep = '')",
    },
  ];
  for (const { language, image, plant, fill, says, look } of cases)
    it(`${language}: the next execution runs, with its variables`, async () => {
      const box = await Sandbox.start({ image: `sandbar/${image}:latest`, docker: FEW_FILES });
      try {
        await box.run(plant, { language });
        const full = await box.run(fill, { language });
        expect(full.done.status).toBe("error");
        expect(`${full.error?.value}${full.stderr}`).toMatch(says);
        for (const stdin of [null, "in"])
          expect(await box.run(look, { language, stdin })).toMatchObject({
            stdout: "7\n",
            done: { status: "ok" },
          });
        expect(box.refused).toEqual([]);
      } finally {
        await box.stop();
      }
    });

  it("a Python traceback is whole, and a raised limit stays", async () => {
    const box = await Sandbox.start({ docker: ["--ulimit", "nofile=256:300"] });
    try {
      const full = await box.run(
        "kept = []\ndef leak():\n    while True: kept.append(open('/dev/null'))\nleak()",
      );
      expect(full.stdout).toBe("");
      expect(full.error?.traceback).toMatch(/leak\(\)[\s\S]*Too many open files/);
      await box.run("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))");
      // Nothing is in reserve any more, and that is said.
      await box.run(
        "import os\ntry:\n    while True: os.open('/dev/null', 0)\nexcept OSError: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))\nwhile True: os.open('/dev/null', 0)",
      );
      const none = await box.run("1");
      expect(none.done.status).toBe("error");
      expect(none.error?.value).toMatch(/file descriptors/);
    } finally {
      await box.stop();
    }
  });
});

describe("processes, disk and memory that code has used up", () => {
  let box: Sandbox;
  beforeAll(async () => {
    box = await Sandbox.start({ docker: ["--shm-size", "1m", "--pids-limit", "18"] });
  });
  afterAll(() => box?.stop());

  it("processes: the kernel goes on, and what cannot start says why", async () => {
    // A small limit is no shortage yet.
    const ended = await box.run("import os; os._exit(3)");
    expect(ended.done).toMatchObject({ status: "died", exit: { exit_code: 3 } });
    expect(ended.done.shortage).toBeUndefined();
    await box.run("planted = 7\nimport subprocess\nkept = []");
    const full = await box.run("while True: kept.append(subprocess.Popen(['sleep', '1000']))");
    expect(full.error?.name).toBe("BlockingIOError");
    const state = await box.call("state", { context: "python" });
    expect(state).toMatchObject({ code: "PROCESS_LIMIT", error: expect.stringMatching(/limits\.pids/) });
    expect(await box.call("fs.list", { path: "/session" })).toMatchObject({
      code: "PROCESS_LIMIT",
      error: expect.stringMatching(/18 of 18 processes/),
    });
    const other = await box.run("1", { context: "other" });
    expect(other.done).toMatchObject({ status: "died", shortage: { code: "PROCESS_LIMIT" } });
    expect(other.done.shortage?.detail).toMatch(/18 of 18 processes.*limits\.pids/);
    expect((await box.run("for one in kept: one.kill(); one.wait()\nprint(planted)")).stdout).toBe("7\n");
    expect((await box.run("print(1)", { context: "other" })).stdout).toBe("1\n");
  });

  it("disk: a new kernel starts all the same, and what needs room says that there is none", async () => {
    const fill = "for folder in /tmp /session /dev/shm; do cat /dev/zero > $folder/full; done";
    const full = await box.run(fill, { language: "bash" });
    expect(full.stderr).toMatch(/No space left on device/);
    expect((await box.run("print(1)", { context: "late" })).stdout).toBe("1\n");
    const given = await box.run("cat", { language: "bash", stdin: "in" });
    expect(given.error).toMatchObject({
      name: "STORAGE_FULL",
      value: expect.stringMatching(/No space left/),
    });
    const left = await box.run("planted=7; exit 3", { language: "bash" });
    expect(left.done).toMatchObject({ status: "error", exit_code: 3 });
    // Its state lies on the disk until the next shell has it.
    const { done } = await box.run("echo $planted", { language: "bash" });
    expect(done.lost?.detail).toMatch(/state could not be kept.*no space left/);
    const tidy = "rm /tmp/full /session/full /dev/shm/full; echo $?";
    expect((await box.run(tidy, { language: "bash" })).stdout).toBe("0\n");
    expect((await box.run("cat", { language: "bash", stdin: "in" })).stdout).toBe("in");
  });
});
