import { HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { type Line, ScriptedModel } from "../fixtures/langgraph/scripted-model.ts";
import { describeMcp } from "../fixtures/mcp-suite.ts";
import { useStack } from "../fixtures/use-stack.ts";

describeMcp(
  "MCP over HTTP",
  (stack, key) =>
    new StreamableHTTPClientTransport(new URL("/mcp", stack.url), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
);

describe("MCP over HTTP, through LangChain's adapters", () => {
  const { stack } = useStack();

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
        run("print('needle'); x * 2"),
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
      // What the code printed reaches the model once: this adapter hands structure on as well.
      expect(JSON.parse(answers[2]!)).toMatchObject({ text: "needle\n40" });
      expect(answers[2]!.split("needle")).toHaveLength(2);
      expect(answers[3]).toContain("ZeroDivisionError");
      expect(messages.at(-1)?.text).toBe("done");
    } finally {
      await mcp.close();
    }
  });
});
