/** `sandbar chat` and `sandbar settings`: the real command, in a real terminal and in pipes, against the whole product. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { run, useChat } from "../fixtures/chat.ts";
import { eventually, REPO } from "../fixtures/stack.ts";
import { onTty } from "../fixtures/tty.ts";

const chat = useChat();
const { stack, client } = chat;
const folder = mkdtempSync(join(tmpdir(), "sandbar-chat-"));
afterAll(() => rmSync(folder, { recursive: true }));

const PNG_CODE =
  "import base64\nfrom IPython.display import Image, display\n" +
  "display(Image(data=base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='), format='png'))";
const PROMPT = /› $/;

const environment = (home = "home") => ({
  ...process.env,
  NO_COLOR: undefined,
  SANDBAR_URL: stack.url,
  SANDBAR_API_KEY: stack.key,
  HOME: join(folder, home),
  XDG_STATE_HOME: join(folder, home, "state"),
});
const terminal = (args: string[], env: object = {}) =>
  onTty(args, { cwd: folder, env: { ...environment(), ...env } });

function begin(args: string[], input: string | null = "", env: object = {}) {
  const child = spawn(process.execPath, [join(REPO, "cli/src/main.ts"), ...args], {
    cwd: folder,
    env: { ...environment("pipes"), ...env },
  });
  const out = { code: null as number | null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk) => (out.stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk) => (out.stderr += chunk));
  if (input !== null) child.stdin.end(input);
  const ended = new Promise<typeof out>((resolve) =>
    child.once("close", (code) => resolve(Object.assign(out, { code }))),
  );
  return { child, out, ended };
}
const sandbar = (args: string[], input = "", env: object = {}) => begin(args, input, env).ended;

const statuses = async (thread: string) => {
  const sessions = await client.ok<{ data: { id: string }[] }>("GET", `/v1/sessions?key=${thread}`);
  const path = `/v1/sessions/${sessions.data[0]!.id}/executions`;
  return (await client.ok<{ data: { status: string }[] }>("GET", path)).data.map(({ status }) => status);
};
const newestThread = async () =>
  (await client.ok<{ thread_id: string }[]>("POST", "/langgraph/threads/search", { limit: 1 }))[0]!.thread_id;

describe("in a pipe", () => {
  it("a CSV on standard input is analysed, the plot saved, and the next question finds the variables", async () => {
    const code = `import pandas as pd\ndf = pd.read_csv("/session/stdin.csv")\nprint(df.rain.mean())\ndf.to_csv("/session/artifacts/out.csv")\n${PNG_CODE}`;
    chat.model.script({ text: "Let me **look**.", calls: [run(code)] }, { text: "Bergen is the *wettest*." });
    const csv = "city,rain\nBergen,290\nOslo,80\nTromsø,100\n";
    const first = await sandbar(["chat", "-p", "Which city?"], csv);
    expect(first).toMatchObject({ code: 0, stdout: "Let me **look**.\n\nBergen is the *wettest*.\n" });
    expect(first.stderr).toMatch(/✓ python, 7 lines · ok in .* · 1 line of output\n {2}│ 156\.66/);
    expect(first.stderr).toMatch(/saved image-1\.png \(\d+ B\)\n {2}artifact out\.csv \(\d+ B\) http/);
    expect(readFileSync(join(folder, "image-1.png")).subarray(1, 4).toString()).toBe("PNG");
    expect(chat.model.requests[0]!.messages[0]!.text).toMatch(
      /^Which city\?\n\nAttached files:\n- \/session\/stdin\.csv/,
    );

    chat.model.script({ calls: [run("df.shape")] }, { text: "Three rows." });
    const second = await sandbar(["chat", "-p", "How many rows?", "--continue", "-o", "json"]);
    const report = JSON.parse(second.stdout);
    expect(report).toMatchObject({
      status: "answered",
      answer: "Three rows.",
      tool_calls: [{ code: "df.shape", output: "(3, 2)\n", status: "ok" }],
      error: null,
    });
    expect([second.code, report.thread_id]).toEqual([0, await newestThread()]);
  });

  it("files by name, events as lines, and a question on standard input", async () => {
    writeFileSync(join(folder, "a.txt"), "alpha");
    chat.model.script({ calls: [run('open("/session/a.txt").read()')] }, { text: "alpha, then." });
    const { stdout, code } = await sandbar(["chat", "-p", "What?", "--file", "a.txt", "-o", "jsonl"]);
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({ id: "1", event: "metadata" });
    expect(events.at(-1)).toMatchObject({ event: "end", data: { tool_calls: [{ output: "'alpha'\n" }] } });
    expect(code).toBe(0);
    chat.model.script({ text: "Piped." });
    expect(await sandbar(["chat"], "Are you there?\n")).toMatchObject({ code: 0, stdout: "Piped.\n" });
    expect(chat.model.requests[0]!.messages[0]!.text).toBe("Are you there?");
  });

  it("says by its exit code how it went: failed, waiting for approval, stopped, used wrongly", async () => {
    chat.model.script({ status: 401, message: "Incorrect API key" });
    expect(await sandbar(["chat", "-p", "Hi"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/MODEL_FAILED.*401.*Incorrect API key/),
    });
    chat.model.script({ calls: [run("print(1)")] });
    const waiting = await sandbar(["chat", "-p", "Run", "--approve", "-o", "json"]);
    expect(waiting.code).toBe(3);
    expect(JSON.parse(waiting.stdout)).toMatchObject({
      status: "waiting",
      pending: [{ name: "code_sandbox", args: { code: "print(1)" } }],
    });
    for (const args of [
      ["-p", ""],
      ["-p", "x", "--new", "--thread", "y"],
      ["-p", "x", "--file", "missing.csv"],
      ["-o", "yaml"],
    ])
      expect((await sandbar(["chat", ...args])).code, args.join(" ")).toBe(2);
    expect((await sandbar(["chat", "-p", "x", "--thread", "none"])).code).toBe(125);
    // None of them has made a chat.
    expect(await newestThread()).toBe(JSON.parse(waiting.stdout).thread_id);

    chat.model.script({ calls: [run("import time\nprint('begun', flush=True)\ntime.sleep(600)")] });
    const { child, out, ended } = begin(["chat", "-p", "Wait", "-o", "jsonl"]);
    await eventually("the code runs", 30_000, () => /"type":"stdout".*begun/.test(out.stdout));
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
    const thread = await newestThread();
    await eventually("the code has ended", 15_000, async () => (await statuses(thread))[0] === "interrupted");
  });

  it("a provider that is busy is asked again, and that is said", async () => {
    chat.model.script(
      { status: 429, message: "slow down", headers: { "retry-after": "0" } },
      { text: "Here." },
    );
    const { stdout, stderr } = await sandbar(["chat", "-p", "Hi"]);
    expect(stdout).toBe("Here.\n");
    expect(stderr).toMatch(/the provider said 429 “slow down”; asking again \(1\)/);
  });

  it("without a model says in one sentence what to set, and settings set it", async () => {
    const other = await stack.clientOf("settles");
    const env = { SANDBAR_API_KEY: other.key };
    const key = { SANDBAR_API_KEY: other.key, HOME: join(folder, "other") };
    expect(await sandbar(["settings", "set", "model", "anthropic:claude-x"], "", env)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("`sandbar settings set api_key`"),
    });
    const missing = await sandbar(["chat", "-p", "Hi"], "", key);
    expect(missing).toMatchObject({ code: 125, stdout: "" });
    expect(missing.stderr).toMatch(
      /^sandbar: The API key of anthropic is not set\. `sandbar settings set api_key`.*\n$/,
    );
    expect(await sandbar(["settings", "set", "api_key", "sk-seen-by-all"], "", env)).toMatchObject({
      code: 2,
    });
    expect((await sandbar(["settings", "set", "api_key"], "sk-piped-7890\n", env)).code).toBe(0);
    expect((await sandbar(["settings", "set", "temperature", "0.5"], "", env)).code).toBe(0);
    const { stdout } = await sandbar(["settings"], "", env);
    expect(stdout).toMatch(/api_key of anthropic +…7890 +you/);
    expect(stdout).toMatch(/temperature +0\.5 +you/);
    expect(stdout).not.toContain("sk-piped");
    for (const name of ["api_key", "model", "temperature"])
      expect((await sandbar(["settings", "unset", name], "", env)).code, name).toBe(0);
    expect((await sandbar(["settings", "test"], "", env)).stdout).toMatch(/^✓ openai:gpt-4o \(\d+ ms\)/);
    expect((await sandbar(["settings", "models"], "", env)).stdout).toMatch(/openai +yes/);
  });
});

describe("at a terminal", () => {
  it("a secret is asked for and not shown", async () => {
    const other = await stack.clientOf("secretive");
    const asked = terminal(["settings", "set", "api_key"], { SANDBAR_API_KEY: other.key });
    await asked.shows(/not shown\): /);
    asked.type("sk-typed-4321\r");
    const rest = await asked.ended.then((code) => ({ code, screen: asked.screen() }));
    expect(rest).toMatchObject({ code: 0, screen: expect.not.stringContaining("sk-typed") });
  });

  it("Markdown is drawn, code folded, pictures saved; /expand shows all; the chat is continued, and not elsewhere", async () => {
    const own = { XDG_STATE_HOME: mkdtempSync(join(folder, "state-")) };
    const first = terminal(["chat"], own);
    await first.shows(/a new chat[\s\S]*› $/);
    chat.model.script(
      {
        text: "Let me **look**.",
        calls: [run(`value = 41\nfor i in range(9): print("line", i)\n${PNG_CODE}`)],
      },
      { text: "# Done\n\n| a | b |\n|---|--:|\n| x | 1 |" },
    );
    first.type("Go on\r");
    const shown = await first.shows(/x +1[\s\S]*› $/);
    expect(shown).toContain("Let me look.");
    expect(shown).toMatch(/✓ python, 5 lines · ok in .* · 9 lines of output · \/expand 1/);
    const [, picture] = /saved (image-\d+\.png)/.exec(shown)!;
    expect(existsSync(join(folder, picture!))).toBe(true);
    first.type("/expand\r");
    expect(await first.shows(PROMPT)).toMatch(/value = 41[\s\S]*line 0[\s\S]*line 8/);
    first.type("/save talk.md\r");
    await first.shows(/saved talk\.md[\s\S]*› $/);
    expect(readFileSync(join(folder, "talk.md"), "utf8")).toMatch(
      /## You\n\nGo on[\s\S]*```python\nvalue = 41/,
    );
    first.type("/nonsense\r");
    await first.shows(/there is no \/nonsense[\s\S]*› $/);
    first.type("\x04");
    expect(await first.ended).toBe(0);

    const second = terminal(["chat"], own);
    expect(await second.shows(PROMPT)).toMatch(/continuing “Go on”[\s\S]*Done/);
    chat.model.script({ calls: [run("value + 1")] }, { text: "Forty-two." });
    second.type("And one more?\r");
    expect(await second.shows(/Forty-two\.[\s\S]*› $/)).toMatch(/python: value \+ 1 · ok.*\s+│ 42/);
    writeFileSync(join(folder, "added.txt"), "added");
    second.type("/add added.txt\r");
    await second.shows(/\/session\/added\.txt goes with the next question[\s\S]*› $/);
    second.type("/files\r");
    await second.shows(/\/session\/added\.txt +5 B[\s\S]*› $/);
    second.type("/new\r");
    await second.shows(/a new chat[\s\S]*› $/);
    second.type("/threads\r");
    await second.shows(/1 {2}Go on[\s\S]*› $/);
    second.type("/resume 1\r");
    await second.shows(/continuing “Go on”[\s\S]*› $/);
    second.type("/quit\r");
    expect(await second.ended).toBe(0);

    const { key } = await stack.clientOf("elsewhere");
    const elsewhere = terminal(["chat"], { ...own, SANDBAR_API_KEY: key });
    expect(await elsewhere.shows(PROMPT)).toContain("a new chat");
    elsewhere.type("\x03");
    await elsewhere.shows(/Ctrl-C again leaves/);
    elsewhere.type("\x03");
    expect(await elsewhere.ended).toBe(0);
  });

  it("Ctrl-C stops the turn and its code; what was typed meanwhile is there; Ctrl-D leaves when the turn has ended", async () => {
    const talk = terminal(["chat", "--new"]);
    await talk.shows(PROMPT);
    chat.model.script(
      { calls: [run("import time\nprint('begun', flush=True)\ntime.sleep(600)")] },
      { text: "Fine." },
    );
    talk.type("Wait\r");
    await talk.shows(/│ begun/);
    talk.type("Never mind");
    await talk.shows(/› Never mind/);
    talk.type("\x03");
    expect(await talk.shows(/stopped[\s\S]*› Never mind/)).toMatch(/✗ python, 3 lines · interrupted/);
    const thread = await newestThread();
    await eventually("the code has ended", 15_000, async () => (await statuses(thread))[0] === "interrupted");
    talk.type("\r");
    await talk.shows(/Fine\.[\s\S]*› $/);
    chat.model.script({ calls: [run("print('again', flush=True)\ntime.sleep(1)")] }, { text: "Done, too." });
    talk.type("Once more\r");
    await talk.shows(/│ again/);
    talk.type("\x04");
    expect(await talk.ended).toBe(0);
    expect(talk.screen()).toMatch(/✓ python, 2 lines · ok[\s\S]*Done, too\./);
  });

  it("asks before code runs: yes, no with a reason, another version; and again later", async () => {
    const EDITOR = "sed -i s/6/7/";
    const talk = terminal(["chat", "--new", "--approve"], { EDITOR, VISUAL: "" });
    await talk.shows(PROMPT);
    const calls = [run("print(6 * 6)")];
    chat.model.script({ calls }, { calls }, { calls }, { text: "Enough." });
    talk.type("Compute\r");
    await talk.shows(/wants to run code:[\s\S]*print\(6 \* 6\)[\s\S]*\[y\]es.* $/);
    talk.type("y");
    await talk.shows(/│ 36[\s\S]*wants to run code[\s\S]*chat $/);
    talk.type("e");
    await talk.shows(/│ 42[\s\S]*wants to run code[\s\S]*chat $/);
    talk.type("\x03");
    await talk.shows(/it waits[\s\S]*› $/);
    talk.type("/quit\r");
    expect(await talk.ended).toBe(0);

    const again = terminal(["chat"]);
    await again.shows(/wants to run code[\s\S]*chat $/);
    again.type("n");
    await again.shows(/Why not/);
    again.type("too risky\r");
    await again.shows(/Enough\.[\s\S]*› $/);
    expect(chat.model.requests.at(-1)!.messages.at(-1)!.text).toContain("too risky");
    again.type("\x04");
    expect(await again.ended).toBe(0);
  });

  it("joins a turn that is under way, and reads on after the control plane has died", async () => {
    chat.model.script(
      {
        text: "Counting.",
        calls: [
          run("import time\nfor i in range(12):\n    print('tick', i, flush=True)\n    time.sleep(0.5)"),
        ],
      },
      { text: "Counted." },
    );
    const thread = (await client.ok<{ thread_id: string }>("POST", "/langgraph/threads", {})).thread_id;
    const input = { messages: [{ role: "user", content: "Count" }] };
    await client.ok("POST", `/langgraph/threads/${thread}/runs`, { assistant_id: "agent", input });
    const talk = terminal(["chat", "--thread", thread]);
    await talk.shows(/a turn is under way[\s\S]*tick 2/);
    process.kill(stack.workerdPid, "SIGKILL");
    await stack.killServer();
    await stack.startServer();
    const shown = await talk.shows(/Counted\.[\s\S]*› $/);
    expect(shown).toMatch(/✓ python, 4 lines · ok in .* · 12 lines of output/);
    expect(await statuses(thread)).toEqual(["ok"]);
    talk.type("\x04");
    expect(await talk.ended).toBe(0);
  });
});
