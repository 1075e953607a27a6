/** @module The first lines of code with this Sandbar, in the languages and tools that people come with. */

export interface Snippet {
  id: string;
  label: string;
  about: string;
  code: string;
}

export function snippetsFor(url: string): Snippet[] {
  return [
    {
      id: "curl",
      label: "curl",
      about: "Make a session, run a cell in it. On the machine of npm start the key is in .sandbar/api-key.",
      code: `export SANDBAR_URL=${url} SANDBAR_API_KEY=sbk_…
A="Authorization: Bearer $SANDBAR_API_KEY"; J='Content-Type: application/json'
SESSION=$(curl -s -H "$A" -H "$J" $SANDBAR_URL/v1/sessions -d '{"key":"demo"}' |
  sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
curl -s -H "$A" -H "$J" $SANDBAR_URL/v1/sessions/$SESSION/executions -d '{"code":"print(6 * 7)"}'`,
    },
    {
      id: "typescript",
      label: "TypeScript",
      about: "The client needs nothing but fetch: Node, Workers, browsers, Deno.",
      code: `import { Sandbar } from "@sandbar/sdk";

const client = new Sandbar({ url: "${url}", apiKey: process.env.SANDBAR_API_KEY! });
const session = await client.session({ key: "demo", runtime: "python" });

await session.run("x = 20");
console.log((await session.run("x * 2")).ok().text); // 40

for await (const event of session.stream("for i in range(3): print(i)"))
  if (event.type === "stdout") process.stdout.write(event.text);`,
    },
    {
      id: "python",
      label: "Python",
      about: "Blocking here; AsyncSandbar is the same with await.",
      code: `from sandbar import Sandbar

client = Sandbar("${url}", api_key="sbk_…")
session = client.session("demo", runtime="python")

session.run("x = 20")
print(session.run("x * 2").text)  # 40

for event in session.stream("for i in range(3): print(i)"):
    if event.type == "stdout":
        print(event.text, end="")`,
    },
    {
      id: "langgraph",
      label: "LangGraph",
      about: "One sandbox for each conversation: thread_id is the session's key. Needs SANDBAR_API_KEY.",
      code: `// SANDBAR_URL=${url}
import { MemorySaver } from "@langchain/langgraph";
import { makeSandboxTools } from "@sandbar/sdk/langchain";
import { createAgent } from "langchain";

const agent = createAgent({
  model, // any chat model that calls tools
  tools: makeSandboxTools({ session: { runtime: "python" }, timeoutS: 60 }),
  checkpointer: new MemorySaver(),
});
const thread = { configurable: { thread_id: "demo" } };
await agent.invoke({ messages: [{ role: "user", content: "Plot a sine wave." }] }, thread);`,
    },
    {
      id: "mcp",
      label: "MCP",
      about: "Any MCP client gets sandboxes over HTTP. What its agents run appears here, live.",
      code: `claude mcp add --transport http sandbar ${url}/mcp --header "Authorization: Bearer sbk_…"`,
    },
  ];
}
