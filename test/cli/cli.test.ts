import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { eventually, REPO } from "../fixtures/stack.ts";
import { onTty } from "../fixtures/tty.ts";
import { useStack } from "../fixtures/use-stack.ts";

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

describe("the sandbar command on the real product", () => {
  const { stack } = useStack();
  const folder = mkdtempSync(join(tmpdir(), "sandbar-cli-"));

  afterAll(async () => {
    rmSync(folder, { recursive: true });
  });

  const command = (args: string[]) => [join(REPO, "cli/src/main.ts"), ...args];
  const settings = () => ({
    cwd: folder,
    env: {
      ...process.env,
      SANDBAR_URL: stack.url,
      SANDBAR_API_KEY: stack.key,
      HOME: folder,
      NO_COLOR: "1",
    },
  });

  function start(args: string[], input?: string) {
    const child = spawn(process.execPath, command(args), settings());
    const out = { code: null as number | null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (chunk) => (out.stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk) => (out.stderr += chunk));
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
    const ended = new Promise<Ended>((resolve) =>
      child.once("close", (code) => {
        out.code = code;
        resolve(out);
      }),
    );
    return { child, out, ended };
  }
  const sandbar = (args: string[], input?: string) => start(args, input).ended;

  it("runs a file, standard input or a word, and passes the code's status through", async () => {
    writeFileSync(join(folder, "hello.py"), "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7");
    expect(await sandbar(["run", "hello.py", "-s", "cli"])).toEqual({
      code: 0,
      stdout: "out\n42\n",
      stderr: "err\n",
    });
    expect(await sandbar(["run", "-", "-s", "cli"], "print('piped')")).toMatchObject({
      code: 0,
      stdout: "piped\n",
    });
    const failed = await sandbar(["run", "-c", "1 / 0", "-s", "cli"]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain("ZeroDivisionError");
    const late = await sandbar(["run", "-c", "while True: pass", "-t", "0.5", "-s", "cli"]);
    expect(late).toMatchObject({ code: 124 });
    expect(late.stderr).toContain("EXECUTION_TIMEOUT");
    expect(await sandbar(["run", "-c", "import os; os.kill(os.getpid(), 9)", "-s", "cli"])).toMatchObject({
      code: 137,
    });
    expect(await sandbar(["run", "missing.py"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("missing.py"),
    });
  });

  it("sh passes words, output and exit codes as they are", async () => {
    expect(await sandbar(["sh", "-s", "cli", "echo $((1+1)); exit 3"])).toMatchObject({
      code: 3,
      stdout: "2\n",
    });
    expect(await sandbar(["sh", "-s", "cli", "printf", "%s|", "a b", "$HOME", "-s"])).toMatchObject({
      code: 0,
      stdout: "a b|$HOME|-s|",
    });
  });

  it("takes the types out of TypeScript", async () => {
    writeFileSync(join(folder, "typed.ts"), "const n: number = 20;\nconsole.log(n * 2 satisfies number);");
    expect(await sandbar(["run", "typed.ts"])).toEqual({ code: 0, stdout: "40\n", stderr: "" });
  });

  it("a reader that leaves ends the code, and the session made for it", async () => {
    const { child, out, ended } = start(["run", "-c", "while True: print('y' * 1000)", "-t", "300"]);
    child.stdout.once("data", () => child.stdout.destroy());
    await ended;
    expect(out.stderr).not.toMatch(/Error: |EPIPE/);
    expect(
      JSON.parse((await sandbar(["sessions", "--label", "sandbar/cli:temporary", "-o", "json"])).stdout),
    ).toEqual([]);
  });

  const temporary = async () =>
    (
      await stack
        .client()
        .ok<{ data: { status: string }[] }>("GET", "/v1/sessions?label=sandbar/cli:temporary")
    ).data;
  const noneIsLeft = () =>
    eventually("no temporary session is left", 20_000, async () =>
      (await temporary()).every(({ status }) => status === "stopped"),
    );

  it("output that cannot be written is an error, and leaves no session behind", async () => {
    const full = openSync("/dev/full", "w");
    const ended = async (args: string[], stdio: ("ignore" | "pipe" | number)[]) => {
      const child = spawn(process.execPath, command(args), { ...settings(), stdio });
      let stderr = "";
      child.stderr?.on("data", (chunk) => (stderr += chunk));
      return { code: await new Promise((resolve) => child.once("close", resolve)), stderr };
    };
    for (const args of [["run", "-c", "print(1)"], ["sessions"]])
      expect(await ended(args, ["ignore", full, "pipe"])).toEqual({
        code: 125,
        stderr: expect.stringMatching(/^sandbar: cannot write the output: ENOSPC.*\n$/),
      });
    const quiet = ["run", "-c", "import sys; print(1, file=sys.stderr)"];
    expect(await ended(quiet, ["ignore", "pipe", full])).toMatchObject({ code: 0 });
    closeSync(full);
    await noneIsLeft();
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s at any moment leaves no session that was made for the run",
    async (signal) => {
      const before = (await temporary()).length;
      const early = start(["run", "-c", "import time; time.sleep(600)", "-t", "600"]);
      await eventually("a session", 20_000, async () => (await temporary()).length > before);
      early.child.kill(signal);
      expect(await early.ended).toMatchObject({ code: 128 + constants.signals[signal] });
      const late = start(["run", "-c", "import time; print('go', flush=True); time.sleep(600)", "-t", "600"]);
      await eventually("go", 20_000, () => late.out.stdout === "go\n");
      late.child.kill(signal);
      expect(await late.ended).toMatchObject({ code: 128 + constants.signals[signal] });
      await noneIsLeft();
    },
  );

  it.each(["SIGTERM", "SIGINT"] as const)("mcp that gets %s interrupts what it runs", async (signal) => {
    const api = stack.client();
    const { id } = await api.create({ key: "mcp" });
    const newest = async () =>
      (await api.ok<{ data: { status: string }[] }>("GET", `/v1/sessions/${id}/executions?limit=1`)).data[0]
        ?.status;
    const server = spawn(process.execPath, command(["mcp"]), settings());
    const ended = new Promise((resolve) => server.once("close", resolve));
    const clientInfo = { name: "test", version: "1" };
    const code = "import time; time.sleep(600)";
    for (const message of [
      {
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
      },
      { method: "notifications/initialized" },
      {
        id: 1,
        method: "tools/call",
        params: { name: "execute_code", arguments: { session_id: id, code, timeout_s: 600 } },
      },
    ])
      server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    await eventually("running", 20_000, async () => (await newest()) === "running");
    server.kill(signal);
    expect(await ended).toBe(128 + constants.signals[signal]);
    await eventually("interrupted", 20_000, async () => (await newest()) === "interrupted");
  });

  it("without a session makes one and leaves none behind", async () => {
    const before = JSON.parse((await sandbar(["sessions", "-o", "json"])).stdout);
    expect(await sandbar(["run", "-c", "print(1)"])).toMatchObject({ code: 0, stdout: "1\n" });
    const after = JSON.parse((await sandbar(["sessions", "ls", "-o", "json"])).stdout);
    expect(after).toEqual(before.map(() => expect.anything()));
  });

  it("answers programs in JSON", async () => {
    const { stdout, code } = await sandbar(["run", "-c", "[1, 2]", "-s", "cli", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ status: "ok", text: "[1, 2]" });
    expect(code).toBe(0);
    const created = JSON.parse((await sandbar(["sessions", "create", "-s", "made", "-o", "json"])).stdout);
    expect(created).toMatchObject({ key: "made", status: "ready" });
    expect(JSON.parse((await sandbar(["session", "get", "made", "-o", "json"])).stdout).id).toBe(created.id);
    expect(await sandbar(["sessions", "rm", "made"])).toMatchObject({ code: 0 });
    expect((await sandbar(["sessions"])).stdout).not.toContain(created.id);
  });

  it("refuses a session that is there with other settings than the flags say, and names them", async () => {
    const made = JSON.parse((await sandbar(["sessions", "create", "plain", "-o", "json"])).stdout);
    for (const [reference, words] of [
      ["plain", ["sessions", "create", "plain"]],
      [made.id, ["sessions", "create", made.id]],
      ["plain", ["run", "-c", "1", "-s", "plain"]],
    ]) {
      const refused = await sandbar([
        ...words,
        "--network",
        "egress",
        "--memory",
        "512",
        "--storage",
        "TMPFS",
      ]);
      expect(refused, reference).toMatchObject({ code: 125, stdout: "" });
      expect(refused.stderr).toContain("SESSION_KEY_CONFLICT");
      expect(refused.stderr).toContain("differs in network, limits.memory_mb\n");
    }
    const agreed = ["sessions", "create", "plain", "--network", "none", "-r", "python", "-o", "json"];
    expect(JSON.parse((await sandbar(agreed)).stdout).id).toBe(made.id);
    expect(await sandbar(["sessions", "rm", "plain"])).toMatchObject({ code: 0 });
  });

  it("gives a shell's pipe to `sh`, and names a session that it keeps", async () => {
    const line = (args: string) =>
      `printf 'a b' | '${process.execPath}' '${join(REPO, "cli/src/main.ts")}' ${args}`;
    const shell = (args: string) =>
      execFileSync("sh", ["-c", line(args)], { ...settings(), encoding: "utf8" });
    expect(shell("sh 'wc -c'").trim()).toBe("3");
    expect(shell("sh --no-stdin 'wc -c'").trim()).toBe("0");
    const { stderr } = await sandbar(["run", "--keep", "-c", "1"]);
    const [, id] = /session (ses_\w+)/.exec(stderr) ?? [];
    expect((await sandbar(["sessions", "stop", id!])).stderr).toBe(`stopped ${id}\n`);
  });

  it("finds hosts by name, and says what it did", async () => {
    const { name } = JSON.parse((await sandbar(["hosts", "get", stack.hostId, "-o", "json"])).stdout);
    expect((await sandbar(["hosts", "cordon", name])).stderr).toBe(`cordoned ${stack.hostId}\n`);
    expect((await sandbar(["hosts", "uncordon", name])).stderr).toBe(`uncordoned ${stack.hostId}\n`);
    expect((await sandbar(["hosts", "get", "nobody"])).code).not.toBe(0);
    const completes = (to: string, ...words: string[]) =>
      // On a crowded machine the server may not answer as soon as somebody at a prompt would want it.
      eventually(`${words.join(" ")} completes to ${to}`, 30_000, async () =>
        (await sandbar(["__complete", ...words])).stdout.split("\n").includes(to),
      );
    await completes(name, "hosts", "drain");
    await completes("cli", "sh", "--session");
  });

  it("saves images when asked, and else says how", async () => {
    const code =
      "import base64\nfrom IPython.display import Image, display\n" +
      "display(Image(data=base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='), format='png'))";
    const said = await sandbar(["run", "-c", code, "-s", "cli"]);
    expect(said.stderr).toBe("image/png, 70 B: --save-images saves it\n");
    expect(said.stdout).toContain("Image object");
    expect(readdirSync(folder)).not.toContain("image-1.png");
    const { stderr } = await sandbar(["run", "-c", code, "-s", "cli", "--save-images"]);
    expect(stderr).toContain("saved image-1.png");
    expect(readdirSync(folder)).toContain("image-1.png");
  });

  it("brings the folder of a program, but for what is made anew there", async () => {
    mkdirSync(join(folder, "program/node_modules"), { recursive: true });
    writeFileSync(join(folder, "program/sibling.py"), "answer = 42");
    writeFileSync(join(folder, "program/node_modules/large.js"), "");
    writeFileSync(
      join(folder, "program/main.py"),
      "import os\nfrom sibling import answer\nprint(answer, sorted(os.listdir('.')))",
    );
    const { stdout } = await sandbar(["run", "program/main.py", "--with", "program"]);
    expect(stdout).toMatch(/^42 \[.*'main.py', 'sibling.py'\]\n$/);
    expect(stdout).not.toContain("node_modules");
    expect(await sandbar(["run", "program/main.py", "--with", "nowhere"])).toMatchObject({ code: 2 });
  });

  it("makes, lists and removes volumes", async () => {
    expect(await sandbar(["volumes", "create", "data", "--size", "64"])).toMatchObject({ code: 0 });
    expect((await sandbar(["volumes"])).stdout).toMatch(/ data +64 MB/);
    expect((await sandbar(["volumes", "remove", "data"])).stderr).toBe("removed data\n");
    expect((await sandbar(["volumes"])).stdout).not.toContain("data");
  });

  it("Ctrl-C interrupts the code first and tells how it ended", async () => {
    const { child, out, ended } = start([
      "run",
      "-s",
      "cli",
      "-c",
      "import time\nmark = 5\nprint('go', flush=True)\ntime.sleep(60)",
    ]);
    while (!out.stdout.includes("go")) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130, stderr: expect.stringContaining("interrupting") });
    expect(await sandbar(["run", "-c", "mark", "-s", "cli"])).toMatchObject({ stdout: "5\n" });
  });

  it("the prompt keeps variables, takes blocks of several lines, and survives errors", async () => {
    const { stdout, stderr, code } = await sandbar(
      ["repl", "-s", "cli"],
      "x = 20\nfor i in range(2):\n    x += 1\n\n1 / 0\nx\n/sh echo $((3 * 3))\n/state\n",
    );
    expect(stdout).toContain("22\n9\n");
    expect(stdout).toMatch(/^x {2}int {2}22$/m);
    expect(stderr).toContain("ZeroDivisionError");
    expect(code).toBe(0);
  });

  const startOnTty = (args: string[]) => {
    const { NO_COLOR: _, ...env } = settings().env;
    return onTty(args, { cwd: folder, env });
  };

  it("at a terminal, Ctrl-C interrupts the running cell and clears a half-typed line", async () => {
    const repl = startOnTty(["repl", "-s", "cli"]);
    await repl.shows(/>>> /);
    repl.type("import time; before = 1; print('on'); time.sleep(60)\n");
    await repl.shows(/\non/);
    repl.type("\x03");
    await repl.shows(/interrupting[\s\S]*>>> /);
    repl.type("garbage(");
    await repl.shows(/garbage/);
    repl.type("\x03");
    await repl.shows(/>>> /);
    repl.type("before + 1\n");
    await repl.shows(/\n2\r?\n[\s\S]*>>> /);
    repl.type("\x04");
    expect(await repl.ended).toBe(0);
  });

  it("at a terminal, Tab completes from the kernel, a paste is one cell, and exit() leaves", async () => {
    const repl = startOnTty(["repl", "-s", "cli"]);
    await repl.shows(/>>> /);
    repl.type("completed_name = 6\r");
    await repl.shows(/>>> /);
    repl.type("7 * completed_n\t");
    await repl.shows(/completed_name/);
    repl.type("\r");
    await repl.shows(/\n42\r?\n[\s\S]*>>> /);
    repl.type("/sta\t");
    await repl.shows(/\/state/);
    repl.type("\r");
    await repl.shows(/completed_name {2}int[\s\S]*>>> /);
    repl.type("\x1b[200~class Pasted:\r    one = 1\r\r    two = 2\r\x1b[201~");
    await repl.shows(/two = 2/);
    repl.type("\r");
    await repl.shows(/>>> /);
    repl.type("Pasted.one + Pasted.two\r");
    await repl.shows(/\n3\r?\n[\s\S]*>>> /);
    repl.type("exit()\r");
    expect(await repl.ended).toBe(0);
  });

  it("opens a terminal in a session and exits as its shell does", async () => {
    const terminal = startOnTty(["terminal", "cli"]);
    terminal.type("echo $((6 * 7)) $0\n");
    await terminal.shows(/42 \S*sh/);
    terminal.type("exit 7\n");
    expect(await terminal.ended).toBe(7);
    expect(await sandbar(["terminal", "cli"])).toMatchObject({ code: 2 });
  });

  it("starts, lists, follows and kills processes", async () => {
    const started = JSON.parse(
      (await sandbar(["ps", "start", "cli", "echo hi; exit 4", "-o", "json"])).stdout,
    );
    expect(await sandbar(["ps", "logs", "cli", started.id])).toMatchObject({ stdout: "hi\n", code: 4 });
    expect((await sandbar(["ps", "cli"])).stdout).toContain("exited 4");
    expect((await sandbar(["ps", "kill", "cli", started.id])).code).toBe(0);
    expect((await sandbar(["ps", "cli"])).stdout).not.toContain(started.id);
  });

  it("a repl runs what it has when its input ends within a cell", async () => {
    const { code, stdout, stderr } = await sandbar(["repl", "-s", "cli"], "print('first')\nprint('second'\n");
    expect([code, stdout]).toEqual([0, "first\n"]);
    expect(stderr).toContain("incomplete input");
    const whole = await sandbar(["repl", "-s", "cli"], "for i in range(2):\n  print(i)");
    expect(whole).toMatchObject({ code: 0, stdout: "0\n1\n", stderr: "" });
    const spaced = "class A:\n    x = 1\n\n    y = 2\n\nprint(A.x + A.y)\nexit()\nprint('after')\n";
    expect(await sandbar(["repl", "-s", "cli"], spaced)).toMatchObject({
      code: 0,
      stdout: "3\n",
      stderr: "",
    });
  });

  it("copies files and folders both ways, and between sessions", async () => {
    mkdirSync(join(folder, "tree/sub dir"), { recursive: true });
    writeFileSync(join(folder, "tree/one.txt"), "1");
    writeFileSync(join(folder, "tree/sub dir/two.txt"), "22");
    expect(await sandbar(["cp", "tree/one.txt", "cli:/session/"])).toMatchObject({ code: 0, stderr: "" });
    expect(await sandbar(["cp", "tree", "cli:/session/tree"])).toMatchObject({ code: 0, stderr: "" });
    expect(
      (await sandbar(["sh", "-s", "cli", "cat one.txt tree/one.txt 'tree/sub dir/two.txt'"])).stdout,
    ).toBe("1122");
    expect(await sandbar(["cp", "cli:/session/one.txt", "back.txt"])).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(folder, "back.txt"), "utf8")).toBe("1");
    expect(await sandbar(["cp", "cli:/session/tree", "back"])).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(folder, "back/sub dir/two.txt"), "utf8")).toBe("22");
    expect(await sandbar(["sessions", "create", "second"])).toMatchObject({ code: 0, stderr: "" });
    expect(await sandbar(["cp", "cli:one.txt", "second:/session/copy.txt"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect((await sandbar(["sh", "-s", "second", "cat copy.txt"])).stdout).toBe("1");
    expect(await sandbar(["cp", "cli:missing", "x"])).toMatchObject({ code: 125 });
    expect(await sandbar(["cp", "a", "b"])).toMatchObject({ code: 2 });
  });

  it("a download that ends early leaves nothing, and says whose fault it was", async () => {
    const small = join(folder, "small");
    mkdirSync(small, { recursive: true });
    await sandbar(["run", "-s", "cli", "-c", "_ = open('/session/large', 'wb').write(bytes(80 << 20))"]);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", small]);
    try {
      const full = await sandbar(["cp", "cli:/session/large", "small/"]);
      expect(full).toMatchObject({ code: 125, stdout: "" });
      expect(full.stderr).toMatch(/^sandbar: ENOSPC.*\n$/);
      expect(readdirSync(small)).toEqual([]);
    } finally {
      execFileSync("umount", [small]);
    }
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const cut = async (): Promise<Ended> => {
        rmSync(join(small, "large"), { force: true });
        const { child, ended } = start(["cp", "cli:/session/large", "small/large"]);
        await eventually("a part", 20_000, () => readdirSync(small).length > 0);
        child.kill(signal);
        const end = await ended;
        // It was whole before the signal came.
        return end.code === 0 ? cut() : end;
      };
      expect(await cut()).toMatchObject({ code: 128 + constants.signals[signal] });
      expect(readdirSync(small)).toEqual([]);
    }
  });

  it("gives nobody rights by the files of a session", async () => {
    await sandbar(["sh", "-s", "cli", "mkdir bits; echo x > bits/program; chmod 6777 bits/program"]);
    expect(await sandbar(["cp", "cli:bits", "bits"])).toMatchObject({ code: 0, stderr: "" });
    expect((statSync(join(folder, "bits/program")).mode & 0o7022).toString(8)).toBe("0");
  });

  it("copies into folders under their own name, a folder's content with /., and pipes", async () => {
    await sandbar(["sh", "-s", "cli", "mkdir -p inbox"]);
    for (const [from, to] of [
      ["tree/one.txt", "cli:inbox"],
      ["tree", "cli:inbox"],
      ["tree/.", "cli:inbox/flat"],
      ["-", "cli:inbox/piped.txt"],
      ["cli:inbox/tree", "second:"],
    ])
      expect(await sandbar(["cp", from!, to!], "from a pipe"), `${from} ${to}`).toMatchObject({
        code: 0,
        stderr: "",
      });
    const found = await sandbar(["sh", "-s", "cli", "cd inbox && find . -type f | sort; cd /session"]);
    expect(found.stdout.trim().split("\n")).toEqual([
      "./flat/one.txt",
      "./flat/sub dir/two.txt",
      "./one.txt",
      "./piped.txt",
      "./tree/one.txt",
      "./tree/sub dir/two.txt",
    ]);
    expect((await sandbar(["sh", "-s", "second", "cat tree/one.txt"])).stdout).toBe("1");
    expect((await sandbar(["cp", "cli:inbox/piped.txt", "-"])).stdout).toBe("from a pipe");
    mkdirSync(join(folder, "here"));
    expect(await sandbar(["cp", "cli:inbox/tree", "here"])).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(folder, "here/tree/sub dir/two.txt"), "utf8")).toBe("22");
  });

  it("lists, saves, links and removes artifacts", async () => {
    const code = "open('/session/artifacts/table.csv', 'w').write('x,y')";
    expect((await sandbar(["run", "-s", "cli", "-c", code])).stderr).toMatch(
      /artifact art_\S+ {2}table\.csv {2}3 B/,
    );
    const [artifact] = JSON.parse((await sandbar(["artifacts", "ls", "cli", "-o", "json"])).stdout);
    expect((await sandbar(["artifacts"])).stdout).toContain("table.csv");
    expect((await sandbar(["artifacts", "save", artifact.id])).stdout).toBe("table.csv\n");
    expect(readFileSync(join(folder, "table.csv"), "utf8")).toBe("x,y");
    expect((await sandbar(["artifacts", "save", artifact.id, "-"])).stdout).toBe("x,y");
    const url = (await sandbar(["artifacts", "link", artifact.id])).stdout.trim();
    expect(await (await fetch(url)).text()).toBe("x,y");
    expect((await sandbar(["artifacts", "rm", artifact.id])).code).toBe(0);
    expect((await sandbar(["artifacts", "get", artifact.id])).code).toBe(125);
  });

  it("shows state, contexts, hosts, keys, usage and top", async () => {
    expect((await sandbar(["state", "cli"])).stdout).toContain("cwd /session");
    expect((await sandbar(["contexts", "cli"])).stdout).toContain("python");
    expect((await sandbar(["hosts"])).stdout).toContain(stack.hostId);
    const key = JSON.parse((await sandbar(["keys", "create", "ci", "--tenant", "ci", "-o", "json"])).stdout);
    expect((await sandbar(["keys", "ls"])).stdout).toContain(key.id);
    expect((await sandbar(["hosts", "--api-key", key.secret])).code).toBe(125);
    expect((await sandbar(["keys", "rm", key.id])).code).toBe(0);
    expect((await sandbar(["usage"])).stdout).toContain("executions");
    expect((await sandbar(["usage", "--by", "hour"])).stdout).toMatch(
      /FROM +EXECUTIONS +FAILED +MEDIAN.*\n\d{4}-/,
    );
    const { step_s } = JSON.parse((await sandbar(["usage", "--by", "hour", "-o", "json"])).stdout);
    expect(step_s).toBe(3600);
    await expect
      .poll(async () => (await sandbar(["audit", "--action", "session."])).stdout)
      .toMatch(/127\.0\.0\.1 +session\.create +ses_\w+ +ok/);
    const happened = await sandbar(["events", "--after", "0", "--type", "execution", "-n", "1"]);
    expect(happened).toMatchObject({ code: 0, stderr: "" });
    expect(happened.stdout).toMatch(/ execution +ses_\S+ +exe_\S+ +\w+ /);
    const [event] = (await sandbar(["events", "--after", "0", "-n", "1", "-o", "json"])).stdout.split("\n");
    expect(JSON.parse(event!)).toMatchObject({ id: expect.any(String), type: expect.any(String) });
    const top = await sandbar(["top", "-n", "1"]);
    expect(top.stdout).toContain(stack.hostId);
    expect(top.stdout).toMatch(/CPU +MEMORY +DISK +PROCS +HOST/);
    expect(top.stdout).toMatch(/\d+\.\d % +\d+ MB +\S+ k?B +\d+ +hst_/);
    expect(JSON.parse((await sandbar(["hosts", "enroll", "-o", "json"])).stdout).token).toBeTruthy();
  });

  it("knows who it is, and prints links for a browser", async () => {
    const who = (await sandbar(["whoami"])).stdout;
    expect(who).toMatch(/tenant +default\nscopes +.*agent.*\nkey +\S.* \(key_\w+\)\nexpires +never\n/);
    const { stdout } = await sandbar(["console"]);
    const [, code] = /^http:\/\/127\.0\.0\.1:\d+\/sign-in#([\w-]{43})\n$/.exec(stdout)!;
    const signIn = () =>
      fetch(`${stack.url}/console/sign-in`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: stack.url },
        body: JSON.stringify({ code }),
      });
    expect((await signIn()).status).toBe(204);
    expect((await signIn()).status).toBe(401);
    expect((await sandbar(["ports", "cli"])).stdout).toMatch(/^ *PORT +ADDRESS/);
    expect((await sandbar(["preview", "cli", "8000"])).stdout).toMatch(/^http.*\/preview\/[\w.-]+\/\n$/);
    expect((await sandbar(["preview", "cli", "0"])).code).toBe(2);
  });

  it("doctor goes all the way to a cell", async () => {
    const { stdout, code } = await sandbar(["doctor"]);
    expect(stdout).toMatch(/✓ a cell: session in \d+ ms, result in \d+ ms/);
    expect(code).toBe(0);
    const operator = await stack.clientOf("default", ["operator"]);
    const looked = await sandbar(["doctor", "--api-key", operator.key]);
    expect(looked.stdout).toMatch(/✓ a cell: not for this key/);
    expect(looked.code).toBe(0);
    const lost = await sandbar(["doctor", "--url", "http://127.0.0.1:9"]);
    expect(lost).toMatchObject({ code: 1, stdout: expect.stringContaining("✗ control plane") });
  });

  it("says what is wrong and what to do", async () => {
    const denied = await sandbar(["sessions", "--api-key", "wrong"]);
    expect(denied).toMatchObject({
      code: 125,
      stderr: expect.stringMatching(/UNAUTHENTICATED[\s\S]*hint: [\s\S]*request: /),
    });
    expect(await sandbar(["sessions", "get", "nobody"])).toMatchObject({ code: 2 });
    const wrong = [
      ["nonsense"],
      ["run", "--nope"],
      ["run", "-l", "cobol", "-c", "1"],
      ["run", "-t", "soon", "-c", "1"],
      ["top", "-d", "-1"],
      ["run", "missing.py"],
      ["contexts", "create", "cli", "c", "cobol"],
      ["datasets", "select", "cli", "d", "--file", "missing.csv"],
    ];
    for (const words of wrong) {
      const { code, stderr } = await sandbar(words);
      expect(code, words.join(" ")).toBe(2);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
    expect(await sandbar(["sessions", "--url", "nonsense"])).toMatchObject({
      code: 125,
      stderr: expect.stringContaining('"nonsense" is not the URL of a Sandbar'),
    });
    const invalid = await sandbar(["keys", "create", "k", "--scopes", "root"]);
    expect(invalid.stderr.match(/scopes\.0: /g)).toHaveLength(1);
    for (const words of [[], ["run"], ["sessions", "stop"], ["keys", "create"], ["cp"]])
      expect(await sandbar([...words, "--help"])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("Usage: sandbar"),
      });
  });

  it("saves settings that later commands use", async () => {
    expect(await sandbar(["config", "set", "url", "http://127.0.0.1:9"])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("saved url in"),
    });
    expect((await sandbar(["config", "get", "url"])).stdout).toBe("http://127.0.0.1:9\n");
    expect((await sandbar(["config", "unset", "url"])).stderr).toContain("removed url from");
    expect(await sandbar(["config", "get", "url"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no url is saved"),
    });
    await sandbar(["config", "set", "url", "http://127.0.0.1:9"]);
    expect((await sandbar(["config", "show", "-o", "json"])).stdout).toContain(stack.url);
    expect((await sandbar(["config"])).stdout).toContain("SANDBAR_API_KEY");
  });

  it("view prints what a BIND session left in its folder", async () => {
    const run = (code: string) => sandbar(["run", "-s", "bound", "--storage", "BIND", "-c", code]);
    await run("seen = 1");
    await run("print('second'); open('/session/artifacts/kept.txt', 'w').write('12345')");
    await run("1 / 0");
    const { id } = JSON.parse((await sandbar(["sessions", "get", "bound", "-o", "json"])).stdout);
    const view = (...args: string[]) => sandbar(["view", ...args, "--root", join(stack.home, "sessions")]);
    let whole = await view(id, "--limit", "2");
    for (let i = 0; i < 20 && !whole.stdout.includes('"seen"'); i++) whole = await view(id, "--limit", "2");
    expect(whole.stdout).toContain("Executions (2 of 3)");
    expect(whole.stdout).toContain(">>> 1 / 0");
    expect(whole.stdout).toMatch(/ {2}! .*ZeroDivisionError/);
    expect(whole.stdout).toContain('"seen"');
    expect(whole.stdout).toMatch(/kept\.txt {2}5 B {2}art_/);
    const bare = await view(join(stack.home, "sessions", id), "--no-state", "--no-artifacts");
    expect(bare.stdout).toContain(">>> seen = 1");
    expect(bare.stdout).not.toMatch(/kept\.txt {2}5|State/);
    expect(JSON.parse((await view(id, "-o", "json")).stdout).entries).toHaveLength(3);
    expect((await view("bound")).stdout).toContain(">>> seen = 1");
    expect(await view("missing")).toMatchObject({ code: 2 });
  });

  it("view does not follow what a sandbox planted in its folder", async () => {
    const planted = join(folder, "planted");
    mkdirSync(planted);
    symlinkSync("/etc/passwd", join(planted, "session.log"));
    symlinkSync("/etc", join(planted, "artifacts"));
    writeFileSync(join(planted, "session_metadata.json"), "{}");
    const { stdout, stderr, code } = await sandbar(["view", planted]);
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain("root:");
  });

  // The last: nothing of the host's sessions is left.
  it("says how far a drain is until it is done", async () => {
    const { name } = JSON.parse((await sandbar(["hosts", "get", stack.hostId, "-o", "json"])).stdout);
    await sandbar(["sessions", "create", "drained"]);
    const { code, stderr } = await sandbar(["hosts", "drain", name]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^(draining \S+: \d+ of \d+ sessions left\n)*drained \S+\n$/);
    expect(JSON.parse((await sandbar(["sessions", "-o", "json"])).stdout)).toEqual([]);
    expect((await sandbar(["hosts", "drain", name, "--no-wait"])).stderr).toBe(`draining ${stack.hostId}\n`);
    expect((await sandbar(["hosts", "uncordon", name])).code).toBe(0);
  });
});
