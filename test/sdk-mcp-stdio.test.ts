import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPO, Stack } from "./fixtures/stack.ts";

describe.each([
  ["2025", "legacy"],
  ["2026", "auto"],
] as const)("sandbar mcp over stdio, driven by the official client (protocol of %s)", (year, mode) => {
  let stack: Stack;
  let client: Client;
  let session: string;

  beforeAll(async () => {
    stack = await Stack.start();
    client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(REPO, "sdk/src/cli/main.ts"), "mcp"],
        env: {
          ...(process.env as Record<string, string>),
          SANDBAR_URL: stack.url,
          SANDBAR_API_KEY: stack.key,
        },
      }),
    );
    const created = await client.callTool({ name: "create_session", arguments: { key: "mcp" } });
    session = (created.structuredContent as { session_id: string }).session_id;
  });
  afterAll(async () => {
    await client?.close();
    await stack?.close();
  });

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
      expect(tool.annotations).toHaveProperty("readOnlyHint");
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
    });
    const late = await call("execute_code", { code: "while True: pass", timeout_s: 0.5 });
    expect(late).toMatchObject({ isError: true, structuredContent: { status: "timeout" } });
  });

  it("the same key is the same session, and stopping it twice is fine", async () => {
    const again = await client.callTool({ name: "create_session", arguments: { key: "mcp" } });
    expect(again.structuredContent).toMatchObject({ session_id: session, key: "mcp", runtime: "python" });
    const other = await client.callTool({ name: "create_session", arguments: {} });
    const { session_id } = other.structuredContent as { session_id: string };
    for (let i = 0; i < 2; i++)
      expect((await call("stop_session", { session_id })).structuredContent).toEqual({
        session_id,
        stopped: true,
      });
  });
});
