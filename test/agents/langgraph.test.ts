import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { Sandbar } from "@sandbar/sdk";
import { makeCodeSandboxTool, makeSandboxTools, makeTerminalTool } from "@sandbar/sdk/langchain";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Line, ScriptedModel } from "../fixtures/langgraph/scripted-model.ts";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("the LangGraph tools in a real graph, with a scripted model", () => {
  const { stack } = useStack();
  let client: Sandbar;
  const folder = mkdtempSync(join(tmpdir(), "sandbar-langgraph-"));

  beforeAll(async () => {
    client = new Sandbar({ url: stack.url, apiKey: stack.key });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
  });

  function graphOf(script: Line[], options: Parameters<typeof makeCodeSandboxTool>[0] = {}) {
    const tools = [makeCodeSandboxTool({ client, ...options }), makeTerminalTool({ client, ...options })];
    const model = new ScriptedModel(script);
    return new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode("tools", new ToolNode(tools))
      .addEdge(START, "model")
      .addConditionalEdges("model", toolsCondition)
      .addEdge("tools", "model")
      .compile({ checkpointer: new MemorySaver() });
  }
  const ask = (text: string) => ({ messages: [new HumanMessage(text)] });
  const code = (text: string, extra = {}): Line => [{ tool: "code_sandbox", args: { code: text, ...extra } }];
  const lastTool = (messages: unknown[]) =>
    messages.findLast((message) => (message as ToolMessage).type === "tool") as ToolMessage;

  it("keeps variables over turns, in one session per thread", async () => {
    const graph = graphOf([code("x = 20"), "set", code("x * 2"), "done"]);
    const config = { configurable: { thread_id: "turns" } };
    await graph.invoke(ask("set x"), config);
    const { messages } = await graph.invoke(ask("double x"), config);
    const answer = lastTool(messages);
    expect(answer.content).toBe("40");
    expect(answer.artifact).toMatchObject({
      status: "ok",
      execution_id: expect.stringMatching(/^exe_/),
      artifacts: [],
    });
    expect(await client.sessions({ key: "turns" }).all()).toHaveLength(1);
  });

  it("two threads at once do not see each other", async () => {
    const threads = ["left", "right"].map(async (name) => {
      const graph = graphOf([code(`import time\nwho = '${name}'\ntime.sleep(0.5)`), code("who"), "done"]);
      const { messages } = await graph.invoke(ask("who?"), { configurable: { thread_id: name } });
      return lastTool(messages).content;
    });
    expect(await Promise.all(threads)).toEqual(["'left'", "'right'"]);
  });

  it("output streams live through the writer", async () => {
    const graph = graphOf([
      code(
        "import os, time\nfor i in range(3):\n    print(i, flush=True)\n    while not os.path.exists(f'/tmp/{i}'): time.sleep(0.05)\n_ = open('/session/artifacts/a.txt', 'w').write('a')",
      ),
      "done",
    ]);
    const chunks: unknown[] = [];
    const config = { configurable: { thread_id: "live" }, streamMode: "custom" as const };
    for await (const chunk of await graph.stream(ask("count"), config)) {
      // The code goes on only when what it printed is here.
      await (await client.session({ key: "live" })).sh(`touch /tmp/${chunks.length}`);
      chunks.push(chunk);
    }
    const tool_call_id = "call_0_0";
    expect(chunks).toEqual([
      ...["0\n", "1\n", "2\n"].map((text) => ({ type: "stdout", text, tool_call_id })),
      { type: "artifact", artifact: expect.objectContaining({ name: "a.txt", size: 1 }), tool_call_id },
    ]);
  });

  it("the terminal works in the same session as the code", async () => {
    const graph = graphOf([
      code("open('/session/note.txt', 'w').write('from python')"),
      [{ tool: "terminal", args: { command: "cat /session/note.txt; exit 4" } }],
      "done",
    ]);
    const { messages } = await graph.invoke(ask("go"), { configurable: { thread_id: "shared" } });
    expect(lastTool(messages).content).toBe("from python\n[exit code 4]");
  });

  it("errors, timeouts and images reach the model as it needs them", async () => {
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    const graph = graphOf([
      code("1 / 0"),
      code("while True: pass", { timeout_s: 0.5 }),
      code(
        `import base64\nfrom IPython.display import Image, display\ndisplay(Image(data=base64.b64decode('${png}'), format='png'))`,
      ),
      "done",
    ]);
    const { messages } = await graph.invoke(ask("go"), { configurable: { thread_id: "errors" } });
    const [error, timeout, image] = messages.filter((message) => message.type === "tool") as ToolMessage[];
    expect(error!.content).toContain("ZeroDivisionError: division by zero");
    expect(timeout!.content).toContain("[EXECUTION_TIMEOUT]");
    expect(timeout!.content).toContain("variables kept");
    expect(image!.content).toContainEqual({
      type: "image_url",
      image_url: { url: expect.stringContaining("data:image/png;base64,iVBOR") },
    });
  });

  it("files come in, artifacts come out, with descriptors beside the text", async () => {
    const tools = makeSandboxTools({ client });
    const config = { configurable: { thread_id: "files" } };
    const use = async (name: string, args: Record<string, unknown>) => {
      const tool = tools.find((candidate) => candidate.name === name)!;
      return (await tool.invoke({ type: "tool_call", id: "1", name, args } as never, config)) as ToolMessage;
    };
    const imported = await use("import_files", {
      files: [
        { destination: "in.csv", content: "x\n1\n" },
        { destination: "bad", artifact_id: "art_none" },
      ],
    });
    expect(imported.content).toMatch(/^in\.csv: 4 bytes\nbad: failed: /);
    const run = await use("code_sandbox", {
      code: "open('/session/artifacts/out.csv', 'w').write(open('in.csv').read() * 2)",
    });
    expect(run.content).toMatch(/\[artifact\] out\.csv \(text\/csv, 8 bytes, id art_\w+\)/);
    expect(run.artifact).toMatchObject({ artifacts: [{ name: "out.csv", size: 8 }] });
    const exported = await use("export_files", { files: [{ source: "in.csv" }, { source: "missing" }] });
    expect(exported.content).toMatch(/^\[artifact\] in\.csv \(4 bytes, id art_\w+\)\nmissing: failed: /);
    expect(exported.artifact).toMatchObject({ artifacts: [{ name: "in.csv" }] });
  });

  it("a session that ended is replaced, and the model is told", async () => {
    const graph = graphOf([code("x = 1"), "ok", code("'x' in globals()"), "done"]);
    const config = { configurable: { thread_id: "ended" } };
    await graph.invoke(ask("set"), config);
    await (await client.findSession("ended"))!.stop();
    const { messages } = await graph.invoke(ask("look"), config);
    expect(lastTool(messages).content).toMatch(/^\[The earlier session had ended\. .*\]\nFalse$/);
  });

  it("the session key may be a function", async () => {
    const sessionKey = (config: { configurable?: Record<string, unknown> }) =>
      `user-${config.configurable?.user}`;
    const graph = graphOf([code("1"), "done"], { sessionKey });
    await graph.invoke(ask("go"), { configurable: { thread_id: "t", user: "ada" } });
    expect(await client.findSession("user-ada")).not.toBeNull();
    expect(await client.findSession("t")).toBeNull();
  });

  it("an aborted graph interrupts the code", async () => {
    const graph = graphOf([code("import time\nprint('go', flush=True)\ntime.sleep(60)"), "done"]);
    const abort = new AbortController();
    const config = {
      configurable: { thread_id: "abort" },
      signal: abort.signal,
      streamMode: "custom" as const,
    };
    await expect(
      (async () => {
        for await (const _ of await graph.stream(ask("go"), config)) abort.abort();
      })(),
    ).rejects.toThrow();
    const session = (await client.findSession("abort"))!;
    expect((await session.run("'free'")).text).toBe("'free'");
    expect((await session.executions().all()).map(({ status }) => status)).toContain("interrupted");
  });

  it("the whole set agrees on one kind of session", () => {
    const names = (tools: { name: string }[]) => tools.map(({ name }) => name);
    expect(names(makeSandboxTools({ client }))).toEqual([
      "code_sandbox",
      "terminal",
      "import_files",
      "export_files",
    ]);
    expect(names(makeSandboxTools({ client, fetchDataset: () => new Uint8Array() }))).toEqual(
      expect.arrayContaining(["select_dataset", "list_datasets", "export_datasets"]),
    );
  });

  function agentProcess(options: { thread: string; script: Line[]; input: string | null }) {
    const argument = JSON.stringify({ checkpoints: join(folder, options.thread), ...options });
    const child = spawn(
      process.execPath,
      [join(REPO, "test/fixtures/langgraph/agent-process.ts"), argument],
      {
        env: { ...process.env, SANDBAR_URL: stack.url, SANDBAR_API_KEY: stack.key },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => (text += chunk));
    const ended = new Promise<string[]>((resolve) =>
      child.once("close", () => resolve(text.trim().split("\n"))),
    );
    return {
      child,
      ended,
      async said(part: string) {
        while (!text.includes(part)) await new Promise((resolve) => setTimeout(resolve, 20));
      },
    };
  }

  it("a new process resumes the thread from its checkpoint, with the kernel's variables", async () => {
    const script = [code("x = 41"), "set", code("x + 1"), "done"];
    await agentProcess({ thread: "resumed", script, input: "set x" }).ended;
    const lines = await agentProcess({ thread: "resumed", script, input: "add one" }).ended;
    expect(JSON.parse(lines.at(-1)!).messages).toEqual([
      ["human", "set x"],
      ["ai", ""],
      ["tool", "(no output)"],
      ["ai", "set"],
      ["human", "add one"],
      ["ai", ""],
      ["tool", "42"],
      ["ai", "done"],
    ]);
  });

  it("an agent killed in the middle of a cell finds that cell again and does not run it twice", async () => {
    const session = await client.session({ key: "killed" });
    await session.run("runs = 0");
    const script = [code("import time\nruns += 1\nprint('go', flush=True)\ntime.sleep(2)\nruns"), "done"];
    const first = agentProcess({ thread: "killed", script, input: "go" });
    await first.said("go");
    first.child.kill("SIGKILL");
    await first.ended;
    const lines = await agentProcess({ thread: "killed", script, input: null }).ended;
    expect(JSON.parse(lines.at(-1)!).messages.slice(-2)).toEqual([
      ["tool", "go\n1"],
      ["ai", "done"],
    ]);
    expect((await session.run("runs")).text).toBe("1");
  });
});
