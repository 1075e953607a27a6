/**
 * An agent with nothing but a shell. Its directory, its files and what it exports stay from command to command and from
 * turn to turn; each thread has a sandbox of its own.
 *
 * @module
 */
import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { makeTerminalTool } from "@sandbar/sdk/langchain";
import { Config } from "@sandbar/sdk/node";
import { createAgent } from "langchain";
import { chooseModel } from "../choose-model.ts";

const client = Config.fromEnv().client();
const thread = `bash-agent-${crypto.randomUUID()}`;
const session = { runtime: "bash" } as const;
await using _stopped = await client.session({ ...session, key: thread });

const agent = createAgent({
  model: await chooseModel([
    [{ tool: "terminal", args: { command: "mkdir -p notes && cd notes && seq 3 > numbers.txt && pwd" } }],
    "I made notes/numbers.txt.",
    [
      {
        tool: "terminal",
        args: { command: "pwd && paste -sd+ numbers.txt | tee sum.txt && echo $((1+2+3))" },
      },
    ],
    "The sum is 6.",
  ]),
  tools: [makeTerminalTool({ client, session, timeoutS: 30 })],
  checkpointer: new MemorySaver(),
  systemPrompt: "You work in a Linux shell. Use the terminal tool.",
});

for (const question of ["Write the numbers 1 to 3 into a file.", "Add up the numbers in the file."]) {
  console.log(`> ${question}`);
  const stream = await agent.stream(
    { messages: [new HumanMessage(question)] },
    { configurable: { thread_id: thread }, streamMode: ["custom", "updates"] },
  );
  for await (const [mode, chunk] of stream) {
    if (mode === "custom") process.stdout.write((chunk as { text?: string }).text ?? "");
    else if ("model_request" in chunk)
      for (const { text } of chunk.model_request.messages) if (text) console.log(text);
  }
}
