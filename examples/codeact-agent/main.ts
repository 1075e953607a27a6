/**
 * A CodeAct agent: instead of calling tools, the model answers with Python, which runs in the sandbox; what it printed
 * is the next message. Functions that are defined in the session beforehand are the agent's tools.
 *
 * @module
 */
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { renderExecution } from "@sandbar/sdk/langchain";
import { Config } from "@sandbar/sdk/node";
import { chooseModel } from "../choose-model.ts";

const TOOLS = `
def population(city: str) -> int:
    """Inhabitants of a city."""
    return {"Oslo": 717_710, "Bergen": 291_940, "Trondheim": 214_565}[city]

def area_km2(city: str) -> float:
    """Area of a city's municipality."""
    return {"Oslo": 454.0, "Bergen": 464.7, "Trondheim": 528.6}[city]
`;
const PROMPT = `Answer with one fenced block of Python to run it and see what it prints; variables stay.
When you know the answer, give it without code. These functions are defined:\n${TOOLS}`;

const client = Config.fromEnv().client();
await using session = await client.session({ runtime: "python" });
(await session.run(TOOLS)).ok();

const model = await chooseModel([
  "First the densities.\n```python\ncities = ['Oslo', 'Bergen', 'Stavanger']\ndensity = {c: population(c) / area_km2(c) for c in cities}\n```",
  "Stavanger is not known.\n```python\ncities[-1] = 'Trondheim'\ndensity = {c: population(c) / area_km2(c) for c in cities}\nprint(max(density, key=density.get), round(max(density.values())))\n```",
  "Oslo is the densest, with 1581 people per square kilometre.",
]);
const codeIn = (text: string) => /```(?:python)?\n(.*?)```/s.exec(text)?.[1];

const agent = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({
    messages: [await model.invoke([new SystemMessage(PROMPT), ...messages])],
  }))
  .addNode("sandbox", async ({ messages }) => {
    const execution = await session.run(codeIn(messages.at(-1)!.text)!, { timeoutS: 60 });
    const [content] = renderExecution(execution, null);
    return { messages: [new HumanMessage({ content })] };
  })
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) => (codeIn(messages.at(-1)!.text) ? "sandbox" : END))
  .addEdge("sandbox", "model")
  .compile();

const { messages } = await agent.invoke(
  { messages: [new HumanMessage("Which of Norway's three largest cities is the densest?")] },
  { recursionLimit: 20 },
);
for (const message of messages) console.log(`${message.type}: ${message.text}\n`);
