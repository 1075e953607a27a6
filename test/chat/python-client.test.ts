/** The Python twin of LangGraph's client, as its package index has it, through the product. No sandbox is needed. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { useChat } from "../fixtures/chat.ts";
import { pythonVenv } from "../fixtures/python-venv.ts";

const run = promisify(execFile);
let python = "";

beforeAll(async () => {
  ({ python } = await pythonVenv("langgraph-python", { install: ["langgraph-sdk==0.4.14"] }));
}, 600_000);
const chat = useChat({ withoutAgent: true });

const PROGRAM = `
import asyncio, json, sys, httpx
from langgraph_sdk import get_client

async def main(url, key):
    client = get_client(url=url, api_key=key)
    said = {}
    ask = lambda text: {"messages": [{"role": "user", "content": text}]}
    [agent] = await client.assistants.search()
    said["assistant"] = agent["graph_id"]
    thread = (await client.threads.create(metadata={"project": "py"}))["thread_id"]
    made = []
    events = [part async for part in client.runs.stream(thread, "agent", input=ask("one"),
        stream_mode=["values", "messages-tuple", "custom"], stream_resumable=True, on_run_created=made.append)]
    said["events"] = sorted({part.event for part in events})
    said["created"] = made[0]["thread_id"] == thread
    values = await client.runs.wait(thread, "agent", input=ask("two"))
    said["texts"] = [message["content"] for message in values["messages"]]
    begun = await client.runs.create(thread, "agent", input=ask("three"), multitask_strategy="enqueue")
    joined = await client.runs.join(thread, begun["run_id"])
    said["joined"] = len(joined["messages"])
    replayed = [part async for part in client.runs.join_stream(thread, begun["run_id"])]
    said["replayed"] = replayed[0].event
    state = await client.threads.get_state(thread)
    said["next"] = state["next"]
    history = await client.threads.get_history(thread, limit=3)
    before = await client.threads.get_history(thread, limit=3, before=history[-1]["checkpoint"])
    ids = [entry["checkpoint"]["checkpoint_id"] for entry in history + before]
    said["history"] = ids == sorted(set(ids), reverse=True) and len(before) > 0
    await client.threads.update_state(thread, {"messages": [{"role": "user", "content": "by hand"}]}, as_node="__start__")
    copy = await client.threads.copy(thread)
    said["copied"] = (await client.threads.get_state(copy["thread_id"]))["values"]["messages"][-1]["content"]
    said["found"] = len(await client.threads.search(metadata={"project": "py"}, select=["thread_id"]))
    said["stateless"] = (await client.runs.wait(None, "agent", input=ask("alone")))["messages"][-1]["content"]
    said["batch"] = len(await client.runs.create_batch([{"assistant_id": "agent", "input": ask("b")}]))
    said["runs"] = [run["status"] for run in await client.runs.list(thread, limit=2)]

    async def follow():
        found = []
        async for part in await client.threads.join_stream(thread, last_event_id="-"):
            found.append(part.event)
            if found.count("metadata") == 4:
                return found
    following = asyncio.create_task(follow())
    await client.runs.wait(thread, "agent", input=ask("four"))
    said["thread_stream"] = (await asyncio.wait_for(following, 30)).count("metadata")

    refused = {}
    for name, call in {
        "store": lambda: client.store.put_item(("a",), key="k", value={}),
        "crons": lambda: client.crons.create("agent", schedule="* * * * *"),
        "assistants": lambda: client.assistants.create("agent"),
        "webhook": lambda: client.runs.create(thread, "agent", input=ask("x"), webhook="http://example.com"),
        "ttl": lambda: client.threads.create(ttl=5),
        "missing": lambda: client.threads.get("nowhere"),
    }.items():
        try:
            await call()
            refused[name] = 200
        except httpx.HTTPStatusError as error:
            refused[name] = error.response.status_code
        except Exception as error:
            refused[name] = getattr(error, "status_code", repr(error))
    said["refused"] = refused
    said["pruned"] = await client.threads.prune([copy["thread_id"], "nowhere"])
    await client.threads.delete(thread)
    print(json.dumps(said))

asyncio.run(main(*sys.argv[1:]))
`;

it("drives the agent with LangGraph's Python client", async () => {
  chat.model.says(({ messages }) => ({ text: `answer to ${messages.at(-1)!.text}` }));
  const { stdout } = await run(python, ["-c", PROGRAM, `${chat.stack.url}/langgraph`, chat.stack.key]);
  expect(JSON.parse(stdout)).toEqual({
    assistant: "agent",
    created: true,
    events: ["messages", "metadata", "values"],
    texts: ["one", "answer to one", "two", "answer to two"],
    joined: 6,
    replayed: "metadata",
    next: [],
    history: true,
    copied: "by hand",
    found: 2,
    stateless: "answer to alone",
    batch: 1,
    runs: ["success", "success"],
    thread_stream: 4,
    refused: { store: 422, crons: 422, assistants: 422, webhook: 400, ttl: 400, missing: 404 },
    pruned: { pruned_count: 1 },
  });
});
