import { HumanMessage } from "@langchain/core/messages";
import { Sandbar, Session } from "@sandbar/sdk";
import { SandbarSandbox } from "@sandbar/sdk/deepagents";
import { newId } from "@sandbar/shared";
import { createDeepAgent, isSandboxBackend } from "deepagents";
import { beforeAll, describe, expect, it } from "vitest";
import { ScriptedModel } from "../fixtures/langgraph/scripted-model.ts";
import { eventually } from "../fixtures/stack.ts";
import { startStack, useStack } from "../fixtures/use-stack.ts";

describe("the deepagents backend on the real product", () => {
  const { stack } = useStack();
  let client: Sandbar;
  let sandbox: SandbarSandbox;

  beforeAll(async () => {
    client = new Sandbar({ url: stack.url, apiKey: stack.key });
    sandbox = await SandbarSandbox.create({ client });
  });

  it("is a sandbox for deepagents, found again by id and by key", async () => {
    expect(isSandboxBackend(sandbox)).toBe(true);
    expect((await SandbarSandbox.fromId(sandbox.id, { client })).id).toBe(sandbox.id);
    const keyed = await SandbarSandbox.fromKey("deep", { client });
    expect((await SandbarSandbox.fromKey("deep", { client })).id).toBe(keyed.id);
    const elsewhere = await SandbarSandbox.fromKey("deep", { client });
    expect([keyed.isRunning, elsewhere.isRunning]).toEqual([true, true]);
    await keyed.close();
    expect(keyed.isRunning).toBe(false);
    await expect(keyed.execute("true")).rejects.toMatchObject({ code: "COMMAND_FAILED" });
    await expect(elsewhere.execute("true")).rejects.toMatchObject({ code: "COMMAND_FAILED" });
    expect(elsewhere.isRunning).toBe(false);
  });

  it("is not running once its session ended without it: container died, host lost, or nobody knows it", async () => {
    const { stack: own } = await startStack();
    const client = new Sandbar({ url: own.url, apiKey: own.key });
    const busy = async () => {
      const sandbox = await SandbarSandbox.create({ client });
      const running = sandbox.execute("touch began; sleep 600");
      await eventually("the command runs", 10_000, async () => {
        const [file] = await sandbox.downloadFiles(["/session/began"]);
        return file!.error === null;
      });
      return { sandbox, running };
    };
    const killed = await busy();
    await (await own.containerOf(killed.sandbox.id)).kill();
    expect(await killed.running).toMatchObject({ exitCode: 137 });
    expect(killed.sandbox.isRunning).toBe(false);

    const unknown = new SandbarSandbox(
      new Session(client.http, { ...killed.sandbox.session.info, status: "ready", id: newId("ses") }),
    );
    expect(unknown.isRunning).toBe(true);
    await expect(unknown.downloadFiles(["/session/began"])).rejects.toThrow("No such session");
    expect(unknown.isRunning).toBe(false);

    const abandoned = await busy();
    await client.hosts.remove(own.hostId);
    expect(await abandoned.running).toMatchObject({ exitCode: null });
    expect(abandoned.sandbox.isRunning).toBe(false);
  });

  it("begins with the files it was created with, or not at all", async () => {
    const initialFiles = {
      "/session/a.txt": "one",
      "/session/deep/er/b.bin": new Uint8Array([0, 255]),
      "c d.txt": "below cwd",
    };
    const filled = await SandbarSandbox.create({ client, initialFiles });
    const { output } = await filled.execute("cat a.txt; echo; od -An -tx1 deep/er/b.bin; cat 'c d.txt'");
    expect(output).toBe("one\n 00 ff\nbelow cwd");
    await filled.close();

    const live = async () =>
      (await client.sessions().all()).filter(({ status }) => !["stopping", "stopped"].includes(status));
    const before = await live();
    await expect(
      SandbarSandbox.create({ client, initialFiles: { "/session/x": "x", "/proc/none": "" } }),
    ).rejects.toThrow("/proc/none");
    expect(await live()).toHaveLength(before.length);
  });

  it("gives its initial files to a session that is new, and leaves one in use as it is", async () => {
    const key = crypto.randomUUID();
    const fromKey = (text: string) =>
      SandbarSandbox.fromKey(key, { client, initialFiles: { "a.txt": text, "b.txt": text } });
    const first = await fromKey("first");
    await first.execute("echo changed > a.txt; rm b.txt");
    const again = await fromKey("again");
    expect(again.id).toBe(first.id);
    expect((await again.execute("ls *.txt; cat a.txt")).output).toBe("a.txt\nchanged\n");
    await again.close();
    const anew = await fromKey("anew");
    expect((await anew.execute("cat a.txt b.txt")).output).toBe("anewanew");

    await anew.close();
    const wrong = { "a.txt": "x", "/proc/none": "" };
    await expect(SandbarSandbox.fromKey(key, { client, initialFiles: wrong })).rejects.toThrow("/proc/none");
    expect((await (await fromKey("whole")).execute("cat a.txt b.txt")).output).toBe("wholewhole");
  });

  it("gives them, too, when the answer that made the session was lost on its way", async () => {
    let cut = true;
    const lossy = new Sandbar({
      url: stack.url,
      apiKey: stack.key,
      fetch: async (input, init) => {
        const answer = await fetch(input, init);
        if (!cut) return answer;
        cut = false;
        await answer.body?.cancel();
        throw new TypeError("fetch failed");
      },
    });
    const initialFiles = { "a.txt": "there" };
    const made = await SandbarSandbox.fromKey(crypto.randomUUID(), { client: lossy, initialFiles });
    expect((await made.execute("cat a.txt")).output).toBe("there");
  });

  it("runs each command in a fresh shell, with both streams and the exit code", async () => {
    expect(await sandbox.execute("echo out; echo err >&2; exit 3")).toEqual({
      output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
      exitCode: 3,
      truncated: false,
    });
    await sandbox.execute("cd /tmp; export LEAK=1; set -e");
    expect((await sandbox.execute("pwd; echo [$LEAK]; cat")).output).toBe("/session\n[]\n");
    expect((await sandbox.execute("echo 'it'\"'\"'s' \"$((1+1))\" `echo x` # comment")).output).toBe(
      "it's 2 x\n",
    );
    expect((await sandbox.execute("cat <<'E'\nhere $x\nE")).output).toBe("here $x\n");
    expect((await sandbox.execute("if then")).exitCode).not.toBe(0);
    expect((await sandbox.execute("echo still here")).output).toBe("still here\n");
  });

  it("honours the timeout and goes on afterwards", async () => {
    const answer = await sandbox.execute("echo start; sleep 600", { timeoutS: 2 });
    expect(answer).toMatchObject({ exitCode: 124, output: expect.stringContaining("start\n") });
    expect((await sandbox.execute("echo ok")).output).toBe("ok\n");
  });

  it("a long command does not hold up another", async () => {
    const go = `/tmp/go-${crypto.randomUUID()}`;
    const slow = sandbox.execute(`until [ -e ${go} ]; do sleep 0.1; done; echo slow`);
    expect((await sandbox.execute(`touch ${go}; echo fast`)).output).toBe("fast\n");
    expect((await slow).output).toBe("slow\n");
  });

  it("large output is cut and says so", async () => {
    const small = await SandbarSandbox.fromId(sandbox.id, { client, maxOutputChars: 1000 });
    const answer = await small.execute("seq 100000");
    expect(answer.truncated).toBe(true);
    expect(answer.output).toContain("Output truncated at 1000 characters");
    const whole = await sandbox.execute("seq 100000");
    expect(whole.output).toHaveLength(588_895);
    expect(whole.truncated).toBe(false);
  });

  it("lists, reads, globs, greps and deletes, whatever the names", async () => {
    const names = [
      "plain.txt",
      "with space.txt",
      "qu'o\"te.txt",
      "-dash.txt",
      "co:lon.txt",
      "ünïcode 😀.txt",
    ];
    for (const [n, name] of names.entries())
      await sandbox.session.run(
        `import os\nos.makedirs('/session/odd/sub', exist_ok=True)\nopen(${JSON.stringify(`/session/odd/${name}`)}, 'w').write('one\\nneedle ${n}: x\\n')`,
      );
    const { files } = await sandbox.ls("/session/odd");
    expect(files!.map(({ path }) => path).sort()).toEqual(
      [...names.map((name) => `/session/odd/${name}`), "/session/odd/sub/"].sort(),
    );
    for (const name of names)
      expect((await sandbox.read(`/session/odd/${name}`)).content).toContain("needle");
    expect((await sandbox.read("/session/odd/missing.txt")).error).toContain("not found");
    const globbed = await sandbox.glob("*.txt", "/session/odd");
    expect(globbed.files!.map(({ path }) => path).sort()).toEqual([...names].sort());
    const { matches } = await sandbox.grep("needle", "/session/odd");
    expect(matches!.map(({ path, line, text }) => [path.slice(13), line, text]).sort()).toEqual(
      names.map((name, n) => [name, 2, `needle ${n}: x`]).sort(),
    );
    expect((await sandbox.grep("needle", "/session/odd", "co*")).matches).toHaveLength(1);
    expect(await sandbox.grep("needle", "/session/odd", null, 2)).toMatchObject({ truncated: true });
    expect((await sandbox.grep("absent", "/session/odd")).matches).toEqual([]);
    for (const name of names)
      expect(await sandbox.delete(`/session/odd/${name}`)).not.toHaveProperty("error");
    expect((await sandbox.delete("/session/odd/plain.txt")).error).toContain("not found");
  });

  it("uploads and downloads, with partial success and deepagents' error codes", async () => {
    const big = new Uint8Array(5_000_000).map((_, i) => i % 251);
    expect(
      await sandbox.uploadFiles([
        ["/session/up/a b.bin", big],
        ["relative", big],
        ["/session/up/ünï.txt", new TextEncoder().encode("é")],
      ]),
    ).toEqual([
      { path: "/session/up/a b.bin", error: null },
      { path: "relative", error: "invalid_path" },
      { path: "/session/up/ünï.txt", error: null },
    ]);
    const [first, missing, folder, text] = await sandbox.downloadFiles([
      "/session/up/a b.bin",
      "/session/up/none",
      "/session/up",
      "/session/up/ünï.txt",
    ]);
    expect(Buffer.from(first!.content!).equals(big)).toBe(true);
    expect([missing!.error, folder!.error]).toEqual(["file_not_found", "is_directory"]);
    expect(new TextDecoder().decode(text!.content!)).toBe("é");
  });

  it("writes and edits", async () => {
    expect(await sandbox.write("/session/doc.md", "one two two")).not.toHaveProperty("error");
    expect(await sandbox.edit("/session/doc.md", "two", "2", true)).toMatchObject({ occurrences: 2 });
    expect((await sandbox.execute("cat doc.md")).output).toBe("one 2 2");
    expect((await sandbox.edit("/session/doc.md", "absent", "x")).error).toContain("not found");
  });

  it("serves a deep agent", async () => {
    const agent = createDeepAgent({
      model: new ScriptedModel([[{ tool: "execute", args: { command: "echo from the sandbox" } }], "done"]),
      backend: sandbox,
    });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    const answer = messages.find((message: { type: string }) => message.type === "tool") as { text: string };
    expect(answer.text).toContain("from the sandbox");
  });
});
