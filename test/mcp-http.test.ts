import { HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Line, ScriptedModel } from "./fixtures/langgraph/scripted-model.ts";
import { Stack } from "./fixtures/stack.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack?.close());

describe.each([
  ["2025", "legacy"],
  ["2026", "auto"],
] as const)("MCP over HTTP, driven by the official client (protocol of %s)", (year, mode) => {
  let client: Client;
  let session: string;
  const key = `mcp-${year}`;

  beforeAll(async () => {
    client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    await client.connect(
      new StreamableHTTPClientTransport(new URL("/mcp", stack.url), {
        requestInit: { headers: { authorization: `Bearer ${stack.key}` } },
      }),
    );
    const created = await client.callTool({ name: "create_session", arguments: { key } });
    session = (created.structuredContent as { session_id: string }).session_id;
  });
  afterAll(() => client?.close());

  const call = (name: string, args: Record<string, unknown>, options = {}) =>
    client.callTool({ name, arguments: { session_id: session, ...args } }, options);

  it("offers the tools with schemas and annotations", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      "create_session",
      "execute_code",
      "execute_terminal",
      "export_files",
      "import_files",
      "list_artifacts",
      "list_datasets",
      "select_dataset",
      "stop_session",
    ]);
    for (const tool of tools) {
      expect(tool.description).toBeTruthy();
      expect(tool.outputSchema).toBeTruthy();
      expect(Object.keys(tool.annotations ?? {}).sort()).toEqual([
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "readOnlyHint",
      ]);
    }
    expect(client.getInstructions()).toContain("create_session");
    expect(client.getNegotiatedProtocolVersion()).toMatch(year);
  });

  it("runs code that keeps its variables, with text for the model and structure for programs", async () => {
    await call("execute_code", { code: "x = 20" });
    const answer = await call("execute_code", { code: "print('hi'); x * 2" });
    expect(answer.content).toEqual([{ type: "text", text: "hi\n40" }]);
    expect(answer.structuredContent).toMatchObject({
      status: "ok",
      stdout: "hi\n",
      text: "40",
      session_id: session,
    });
    expect(answer.isError).toBe(false);
    const failed = await call("execute_code", { code: "1 / 0" });
    expect(failed).toMatchObject({
      isError: true,
      structuredContent: { error: { name: "ZeroDivisionError" } },
    });
  });

  it("runs shell commands", async () => {
    const answer = await call("execute_terminal", { command: "cd /tmp; pwd; exit 3" });
    expect(answer.structuredContent).toMatchObject({ stdout: "/tmp\n", exit_code: 3 });
  });

  it("shows small images", async () => {
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    const answer = await call("execute_code", {
      code: `import base64\nfrom IPython.display import Image, display\ndisplay(Image(data=base64.b64decode('${png}'), format='png'))`,
    });
    expect(answer.content).toContainEqual({
      type: "image",
      mimeType: "image/png",
      data: expect.stringContaining("iVBOR"),
    });
  });

  it("shows a small saved image next to the link to the whole artifact", async () => {
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    const { content } = await call("execute_code", {
      code: `import base64\nopen('/session/artifacts/p.png', 'wb').write(base64.b64decode('${png}'));`,
    });
    expect(content).toContainEqual({ type: "image", mimeType: "image/png", data: png });
    expect(content).toContainEqual(expect.objectContaining({ type: "resource_link", name: "p.png" }));
  });

  it("brings files in and out; artifacts are links, resources and entries of a list", async () => {
    const imported = await call("import_files", {
      files: [
        { destination: "in/a b.txt", content: "hello" },
        { destination: "in/none", from_session_id: session, path: "missing" },
      ],
    });
    expect(imported.structuredContent).toMatchObject({ files: [{ ok: true, size: 5 }, { ok: false }] });
    expect(imported.isError).toBe(false);
    const run = await call("execute_code", {
      code: "open('/session/artifacts/kept.txt', 'w').write(open('in/a b.txt').read())",
    });
    const link = run.content.find((block) => block.type === "resource_link") as { uri: string; name: string };
    expect(link).toMatchObject({
      name: "kept.txt",
      uri: expect.stringMatching(/^sandbar:\/\/artifacts\/art_/),
    });
    const { contents } = await client.readResource({ uri: link.uri });
    expect(contents).toMatchObject([{ uri: link.uri, text: "hello" }]);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain(link.uri);
    const listed = await call("list_artifacts", {});
    expect(listed.structuredContent).toMatchObject({
      artifacts: expect.arrayContaining([expect.objectContaining({ name: "kept.txt" })]),
    });
    const exported = await call("export_files", {
      files: [{ source: "in/a b.txt", name: "out.txt" }, { source: "nowhere" }],
    });
    expect(exported.structuredContent).toMatchObject({
      files: [{ ok: true, artifact: { size: 5 } }, { ok: false }],
    });
  });

  it("reports progress with the newest output", async () => {
    const messages: string[] = [];
    const answer = await call(
      "execute_code",
      { code: "import time\nfor i in range(4): print('step', i, flush=True); time.sleep(0.4)" },
      { onprogress: ({ message }: { message?: string }) => messages.push(message ?? "") },
    );
    expect(answer.isError).toBe(false);
    expect(messages.length).toBeGreaterThan(1);
    expect(messages.join("")).toContain("step 3");
  });

  it("a cancelled call interrupts the code", async () => {
    const abort = new AbortController();
    const run = call(
      "execute_code",
      { code: "import time\nkept = 1\ntime.sleep(60)", timeout_s: 100 },
      { signal: abort.signal },
    );
    setTimeout(() => abort.abort(), 500);
    await expect(run).rejects.toThrow();
    const began = Date.now();
    expect((await call("execute_code", { code: "kept" })).structuredContent).toMatchObject({ text: "1" });
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it("refusals are answers the model can act on", async () => {
    const missing = await client.callTool({
      name: "execute_code",
      arguments: { session_id: "ses_00000000000000000000000000", code: "1" },
    });
    expect(missing).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("NOT_FOUND") }],
      _meta: { "sandbar/problem": { code: "NOT_FOUND", hint: expect.any(String), retryable: false } },
    });
    await expect(client.readResource({ uri: "sandbar://artifacts/art_none" })).rejects.toThrow(/not found/i);
    const late = await call("execute_code", { code: "while True: pass", timeout_s: 0.5 });
    expect(late).toMatchObject({ isError: true, structuredContent: { status: "timeout" } });
  });

  it("datasets are listed, and a refusal says what is missing", async () => {
    expect((await call("list_datasets", {})).structuredContent).toEqual({ access: "NONE", datasets: [] });
    const refused = await call("select_dataset", { dataset_id: "d", source: "nowhere" });
    expect(refused.isError).toBe(true);
    expect(refused._meta).toHaveProperty(["sandbar/problem", "code"]);
  });

  it("an artifact becomes a dataset that code can read", async () => {
    const made = await client.callTool({
      name: "create_session",
      arguments: { key: `${key}-datasets`, datasets: "API" },
    });
    const { session_id } = made.structuredContent as { session_id: string };
    const run = await call("execute_code", {
      session_id,
      code: "open('/session/artifacts/d.csv', 'w').write('a,b')",
    });
    const [artifact] = (run.structuredContent as { artifacts: { id: string }[] }).artifacts;
    const selected = await call("select_dataset", {
      session_id,
      dataset_id: "d.csv",
      artifact_id: artifact!.id,
    });
    const { path, status } = selected.structuredContent as { path: string; status: string };
    expect(status).toBe("LOADED");
    const read = await call("execute_code", { session_id, code: `open('${path}').read()` });
    expect(read.structuredContent).toMatchObject({ text: "'a,b'" });
    expect((await call("list_datasets", { session_id })).structuredContent).toMatchObject({
      access: "API",
      datasets: [{ id: "d.csv", status: "LOADED", path }],
    });
    await call("stop_session", { session_id });
  });

  it("an artifact too large for a message is refused with a link to the whole", async () => {
    const run = await call("execute_code", {
      code: "_ = open('/session/artifacts/large.bin', 'wb').write(bytes(9 << 20))",
    });
    const { uri } = run.content.find((block) => block.type === "resource_link") as { uri: string };
    const refusal = await client.readResource({ uri }).catch((error: Error) => error.message);
    const link = /http\S+/.exec(refusal as string)![0];
    const { body } = await request(link);
    expect((await body.arrayBuffer()).byteLength).toBe(9 << 20);
  });

  it("the same key is the same session, and stopping it twice is fine", async () => {
    const again = await client.callTool({ name: "create_session", arguments: { key } });
    expect(again.structuredContent).toMatchObject({ session_id: session, key, runtime: "python" });
    const other = await client.callTool({ name: "create_session", arguments: {} });
    const { session_id } = other.structuredContent as { session_id: string };
    for (let i = 0; i < 2; i++)
      expect((await call("stop_session", { session_id })).structuredContent).toEqual({
        session_id,
        stopped: true,
      });
  });
});

describe("MCP over HTTP, through LangChain's adapters", () => {
  it("a graph makes a session, keeps variables over calls and reads what failed", async () => {
    const mcp = new MultiServerMCPClient({
      mcpServers: {
        sandbar: {
          transport: "http",
          url: `${stack.url}/mcp`,
          headers: { Authorization: `Bearer ${stack.key}` },
        },
      },
    });
    try {
      const tools = await mcp.getTools();
      const { id } = await stack.client().ok<{ id: string }>("POST", "/v1/sessions", { key: "langchain" });
      const run = (code: string): Line => [{ tool: "execute_code", args: { session_id: id, code } }];
      const model = new ScriptedModel([
        [{ tool: "create_session", args: { key: "langchain" } }],
        run("x = 20"),
        run("x * 2"),
        run("1 / 0"),
        "done",
      ]);
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
        .addNode("tools", new ToolNode(tools))
        .addEdge(START, "model")
        .addConditionalEdges("model", toolsCondition)
        .addEdge("tools", "model")
        .compile();
      const { messages } = await graph.invoke({ messages: [new HumanMessage("double x")] });
      const answers = messages.filter(({ type }) => type === "tool").map(({ text }) => text);
      expect(answers).toHaveLength(4);
      expect(answers[0]).toContain(id);
      expect(JSON.parse(answers[2]!)).toMatchObject({ text: "40", structuredContent: { status: "ok" } });
      expect(answers[3]).toContain("ZeroDivisionError");
      expect(messages.at(-1)?.text).toBe("done");
    } finally {
      await mcp.close();
    }
  });
});
