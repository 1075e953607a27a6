"""The tools in a real LangGraph graph, with a scripted model."""

import asyncio

import pytest

pytest.importorskip("langgraph")
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from sandbar import Sandbar
from sandbar.langchain import make_code_sandbox_tool, make_sandbox_tools, make_terminal_tool


def graph_of(tools):
    """The scripted model calls the tool that the user's message names, once, and then repeats its answer."""

    def model(state):
        last = state["messages"][-1]
        if isinstance(last, ToolMessage):
            return {"messages": [AIMessage(str(last.content))]}
        name, _, argument = last.content.partition(": ")
        key = "command" if name == "terminal" else "code"
        call = {"name": name, "args": {key: argument}, "id": f"call-{len(state['messages'])}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", tools if isinstance(tools, ToolNode) else ToolNode(tools))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.fixture
def client():
    with Sandbar.from_env() as client:
        yield client


def stop(client, *keys):
    for key in keys:
        client.session(key).stop()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_step_that_is_tried_again_finds_what_it_ran(client, unique, asynchronous):
    tool = make_code_sandbox_tool(client)
    failures = []

    def lose(answer):
        """The first answer, as a process does that dies before its checkpoint."""
        if not failures:
            failures.append(answer)
            raise ConnectionError("the answer is lost")
        return answer

    async def alose(request, execute):
        return lose(await execute(request))

    node = ToolNode(
        [tool], wrap_tool_call=lambda request, execute: lose(execute(request)), awrap_tool_call=alose
    )
    graph = graph_of(node)
    config = {"configurable": {"thread_id": unique}}
    say = {"messages": [("user", "code_sandbox: count = globals().get('count', 0) + 1; print(count)")]}
    try:
        with pytest.raises(ConnectionError):
            asyncio.run(graph.ainvoke(say, config)) if asynchronous else graph.invoke(say, config)
        state = asyncio.run(graph.ainvoke(None, config)) if asynchronous else graph.invoke(None, config)
        assert state["messages"][-1].content == "1"
    finally:
        stop(client, unique)


def test_two_threads_have_two_sessions_and_keep_their_state(client, unique):
    graph = graph_of([make_code_sandbox_tool(client), make_terminal_tool(client)])

    def say(thread, text):
        config = {"configurable": {"thread_id": thread}}
        return graph.invoke({"messages": [("user", text)]}, config)["messages"]

    one, two = f"{unique}-1", f"{unique}-2"
    try:
        say(one, "code_sandbox: x = 'first'")
        say(two, "code_sandbox: x = 'second'")
        assert say(one, "code_sandbox: print(x)")[-1].content == "first"
        assert say(two, "code_sandbox: print(x)")[-1].content == "second"
        messages = say(one, "terminal: false")
        assert messages[-1].content == "exit code 1"
        assert messages[-2].artifact["session_id"] == client.session(one).id
        assert "ZeroDivisionError" in say(one, "code_sandbox: 1 / 0")[-1].content
    finally:
        stop(client, one, two)


def test_async_with_live_output_in_the_custom_stream(client, unique):
    async def run():
        graph = graph_of(make_sandbox_tools(client))
        config = {"configurable": {"thread_id": unique}}
        code = (
            "code_sandbox: import time\nfor i in range(3):\n    print(i, flush=True); time.sleep(0.2)\n"
            "_ = open('/session/artifacts/a.txt', 'w').write('a')"
        )
        seen = []
        async for mode, chunk in graph.astream(
            {"messages": [("user", code)]}, config, stream_mode=["custom", "values"]
        ):
            seen.append((mode, chunk))
        return seen

    try:
        seen = asyncio.run(run())
        *live, kept = [chunk for mode, chunk in seen if mode == "custom"]
        assert "".join(chunk["text"] for chunk in live) == "0\n1\n2\n" and len(live) > 1
        assert all(chunk["type"] == "stdout" and chunk["tool_call_id"] == "call-1" for chunk in live)
        assert kept["type"] == "artifact" and kept["artifact"]["name"] == "a.txt"
        assert kept["tool_call_id"] == "call-1"
        assert seen[-1][1]["messages"][-1].content.startswith("0\n1\n2")
    finally:
        stop(client, unique)


def test_artifacts_and_images_reach_the_application(client, unique, needs):
    needs("/v1/artifacts/{id}")
    tool = make_code_sandbox_tool(client, timeout_s=60)
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.savefig('/session/artifacts/plot.png'); plt.show()"
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"code": code}}
    try:
        message = tool.invoke(call, {"configurable": {"thread_id": unique}})
        assert [block["type"] for block in message.content] == ["text", "image"]
        [artifact] = message.artifact["artifacts"]
        assert artifact["name"] == "plot.png" and "plot.png" in message.content[0]["text"]
        assert client.artifacts.read(artifact["id"])[:4] == b"\x89PNG"
    finally:
        stop(client, unique)


def test_files_in_and_out(client, unique, needs):
    needs("/v1/sessions/{id}/import")
    tools = {tool.name: tool for tool in make_sandbox_tools(client)}
    config = {"configurable": {"thread_id": unique}}

    def use(name, **args):
        return tools[name].invoke({"type": "tool_call", "id": "1", "name": name, "args": args}, config)

    try:
        files = [
            {"destination": "/session/a.txt", "content": "hello"},
            {"destination": "b", "artifact_id": "art_0"},
        ]
        lines = use("import_files", files=files).content.split("\n")
        assert lines[0] == "/session/a.txt: 5 bytes" and lines[1].startswith("b: failed: NOT_FOUND")
        assert use("terminal", command="cat /session/a.txt").content == "hello"
        needs("/v1/sessions/{id}/export")
        exported = use("export_files", files=[{"source": "/session/a.txt"}])
        assert client.artifacts.read(exported.artifact[0]["artifact"]["id"]) == b"hello"
    finally:
        stop(client, unique)


def test_datasets(client, unique, needs):
    needs("/v1/sessions/{id}/datasets")
    tools = {
        tool.name: tool
        for tool in make_sandbox_tools(
            client,
            session={"datasets": "API"},
            fetch_fn=lambda source, name: source[name],
            fetch_client={"d": b"1,2"},
        )
    }
    config = {"configurable": {"thread_id": unique}}

    def use(name, **args):
        return tools[name].invoke({"type": "tool_call", "id": "1", "name": name, "args": args}, config)

    try:
        path = use("select_dataset", dataset_id="d").artifact["path"]
        assert path in use("list_datasets").content
        assert use("terminal", command=f"cat '{path}'").content == "1,2"
        exported = use("export_dataset", dataset_id="d")
        assert client.artifacts.read(exported.artifact["id"]) == b"1,2"
    finally:
        client.session(unique, datasets="API").stop()
