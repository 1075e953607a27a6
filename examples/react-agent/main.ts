/**
 * A ReAct agent on LangGraph: it thinks, runs Python, looks at the result and goes on. The second question finds the
 * variables of the first, because the thread keeps its sandbox. `createReactAgent` of `@langchain/langgraph/prebuilt`
 * takes the same tools.
 *
 * @module
 */
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { makeSandboxTools } from "@sandbar/sdk/langchain";
import { Config } from "@sandbar/sdk/node";
import { createAgent } from "langchain";
import { chooseModel } from "../choose-model.ts";

const client = Config.fromEnv().client();
const thread = `react-agent-${crypto.randomUUID()}`;
const session = { runtime: "python" } as const;
await using _stopped = await client.session({ ...session, key: thread });

const agent = createAgent({
  model: await chooseModel([
    [{ tool: "code_sandbox", args: { code: "a = 5 + 7\na" } }],
    "5 + 7 is 12.",
    [{ tool: "code_sandbox", args: { code: "import math\nround(math.sin(a), 4)" } }],
    [
      {
        tool: "code_sandbox",
        args: { code: "open('/session/artifacts/sine.txt', 'w').write(f'sin({a}) = {math.sin(a)}')" },
      },
    ],
    "The sine of a is -0.5366; I saved it in sine.txt.",
  ]),
  tools: makeSandboxTools({ client, session }),
  checkpointer: new MemorySaver(),
});

for (const question of ["What is 5 + 7? Keep it as a.", "What is the sine of a? Save it."]) {
  console.log(`> ${question}`);
  const { messages } = await agent.invoke(
    { messages: [new HumanMessage(question)] },
    { configurable: { thread_id: thread } },
  );
  const turn = messages.slice(messages.findLastIndex((message) => HumanMessage.isInstance(message)) + 1);
  for (const message of turn) {
    if (message.text) console.log(`${message.type}: ${message.text}`);
    // What the model need not see, and your application does: descriptors of the files that the code left.
    if (ToolMessage.isInstance(message))
      for (const { id } of message.artifact?.artifacts ?? [])
        console.log("link:", (await client.artifacts.link(id, { expiresInS: 600 })).url.split("?")[0]);
  }
}
