import asyncio
import base64
import json

import httpx
import pytest
from fake_sandbar import FakeSandbar, execution, problem

import sandbar

pytest.importorskip("langchain_core")
from sandbar import langchain as tools

CONFIG = {"configurable": {"thread_id": "thread-1"}}
ARTIFACT = {"id": "art_1", "name": "a.csv", "size": 3, "mime": "text/csv", "url": "/artifacts/art_1"}


def a_client(*answers, **options):
    fake = FakeSandbar(*answers, **options)
    return fake, sandbar.Sandbar("http://sandbar.test", "x", transport=fake, max_retries=0)


def call(tool, **args):
    return tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": args}, CONFIG)


def test_a_call_that_a_checkpoint_replays_has_the_key_of_the_first_one():
    fake, client = a_client(*[execution() for _ in range(5)])
    tool = tools.make_code_sandbox_tool(client)

    def key(step, call_id):
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": step}}
        tool.invoke({"type": "tool_call", "id": call_id, "name": tool.name, "args": {"code": "x"}}, config)
        return fake.requests[-1].headers["idempotency-key"]

    first = key("tools:step ä", "call 1")
    assert key("tools:step ä", "call 1") == first
    assert len({first, key("tools:step ä", "call 2"), key("tools:other", "call 1")}) == 3
    tool.invoke({"code": "x"}, CONFIG)
    assert not fake.requests[-1].headers["idempotency-key"].startswith("lc")


def test_code_answers_text_for_the_model_and_descriptors_as_artifact():
    fake, client = a_client(execution(artifacts=[ARTIFACT]))
    message = call(
        tools.make_code_sandbox_tool(client, timeout_s=9, session={"idle_ttl_s": 60}), code="6 * 7"
    )
    assert message.content == "hi\n42\nartifact a.csv (3 bytes, text/csv): art_1"
    assert message.artifact["artifacts"] == [ARTIFACT] and message.artifact["execution_id"] == "exe_1"
    assert json.loads(fake.requests[0].content) == {"key": "thread-1", "idle_ttl_s": 60}
    assert json.loads(fake.requests[1].content) == {"code": "6 * 7", "timeout_s": 9}


def test_the_model_sees_only_its_own_arguments():
    _, client = a_client()
    assert set(tools.make_code_sandbox_tool(client).args) == {"code"}
    assert set(tools.make_terminal_tool(client).args) == {"command"}
    assert tools.make_list_datasets_tool(client).args == {}


def test_small_images_are_content_blocks_and_large_ones_are_named():
    small, large = base64.b64encode(b"x" * 30).decode(), base64.b64encode(b"x" * 3000).decode()
    _, client = a_client(execution(results=[{"image/png": small}, {"image/png": large}]))
    message = call(tools.make_code_sandbox_tool(client, image_limit_bytes=1000), code="plot()")
    assert message.content[1] == {"type": "image", "base64": small, "mime_type": "image/png"}
    assert "image/png of 3000 bytes not shown" in message.content[0]["text"]


def test_a_death_says_what_was_lost():
    _, client = a_client(
        execution(
            status="died",
            stdout="",
            error={"name": "OOM_KILLED", "value": "out of memory", "traceback": ""},
            state={"variables": "lost", "files": "kept"},
        )
    )
    message = call(tools.make_code_sandbox_tool(client), code="x")
    assert message.content == "OOM_KILLED: out of memory\nstatus: died\nLost: variables of earlier calls."


def test_a_loss_before_the_call_is_said_with_its_reason():
    state = {"variables": "lost", "files": "kept", "reason": "it fell", "lost_at": "2026-01-01T00:00:00.000Z"}
    _, client = a_client(execution(stdout="1\n", text=None, state=state))
    message = call(tools.make_code_sandbox_tool(client), code="x")
    assert message.content == "1\nLost: variables of earlier calls before this one began: it fell."


def test_output_is_cut_and_says_so():
    _, client = a_client(execution(stdout="x" * 100, text=None, truncated={"stdout": 5000}))
    message = call(tools.make_code_sandbox_tool(client, output_limit_chars=10), code="x")
    assert message.content == "xxxxxxxxxx\n[cut: 5000 characters in all]"
    _, client = a_client(execution(stdout="", text="1", truncated={"results": 1, "text/html": 2000000}))
    message = call(tools.make_code_sandbox_tool(client), code="x")
    assert message.content == "1\ntoo large and left out: text/html of 2000000 characters"


def test_terminal_runs_bash_and_shows_the_exit_code():
    fake, client = a_client(execution(stdout="", stderr="no\n", text=None, exit_code=2, status="error"))
    message = call(tools.make_terminal_tool(client), command="ls /nowhere")
    assert message.content == "stderr:\nno\nexit code 2"
    assert json.loads(fake.requests[1].content) == {"code": "ls /nowhere", "language": "bash"}


def test_a_refusal_is_an_error_message_with_its_hint():
    _, client = a_client(problem(410, "SESSION_ENDED"))
    message = call(tools.make_terminal_tool(client), command="ls")
    assert message.status == "error" and "SESSION_ENDED" in message.content and "do this" in message.content


def test_session_key_functions_with_and_without_the_config():
    for function in (lambda: "mine", lambda config: config["configurable"]["thread_id"] + "!"):
        fake, client = a_client(execution())
        call(tools.make_code_sandbox_tool(client, session_key_fn=function), code="x")
        assert json.loads(fake.requests[0].content)["key"] in ("mine", "thread-1!")


def test_without_a_thread_there_is_no_shared_session():
    _, client = a_client()
    with pytest.raises(ValueError, match="thread_id"):
        tools.make_code_sandbox_tool(client).invoke({"code": "x"})


def test_async_calls_use_an_async_client():
    fake = FakeSandbar(execution())
    client = sandbar.AsyncSandbar("http://sandbar.test", "x", transport=fake)
    tool = tools.make_code_sandbox_tool(client)
    message = asyncio.run(
        tool.ainvoke({"type": "tool_call", "id": "1", "name": tool.name, "args": {"code": "x"}}, CONFIG)
    )
    assert message.content == "hi\n42" and message.artifact["status"] == "ok"


def test_datasets():
    loaded = {"id": "d", "status": "LOADED", "path": "/session/data/d.parquet", "size": 5}
    fake, client = a_client(
        httpx.Response(200, json=loaded),
        httpx.Response(200, json={"access": "API", "data": [loaded]}),
        httpx.Response(200, json={"access": "NONE", "data": []}),
        httpx.Response(200, json=ARTIFACT),
        httpx.Response(200, json={**loaded, "status": "FAILED", "error": "no such thing"}),
    )
    select = tools.make_select_dataset_tool(client, fetch_fn=lambda c, d: c[d], fetch_client={"d": b"bytes"})
    message = call(select, dataset_id="d")
    assert "/session/data/d.parquet" in message.content and message.artifact == loaded
    assert json.loads(fake.requests[0].content)["datasets"] == {"access": "API"}
    assert fake.requests[1].content == b"bytes"
    listing = tools.make_list_datasets_tool(client)
    assert call(listing).content == "- d: LOADED, /session/data/d.parquet, 5 bytes"
    assert call(listing).content == "This sandbox has no datasets."
    exported = call(tools.make_export_datasets_tool(client), dataset_id="d")
    assert exported.artifact == ARTIFACT and "art_1" in exported.content
    failed = call(tools.make_select_dataset_tool(client), dataset_id="d")
    assert failed.status == "error" and "no such thing" in failed.content


def test_files():
    fake, client = a_client(
        httpx.Response(
            200,
            json={
                "data": [
                    {"destination": "a", "ok": True, "size": 1},
                    {"destination": "b", "ok": False, "error": {"code": "NOT_FOUND", "detail": "no"}},
                ]
            },
        ),
        httpx.Response(200, json={"data": [{"source": "a", "ok": True, "artifact": ARTIFACT}]}),
    )
    files = [{"destination": "a", "content": "x"}, {"destination": "b", "artifact_id": "art_9"}]
    message = call(tools.make_import_files_tool(client), files=files)
    assert message.content == "a: 1 bytes\nb: failed: NOT_FOUND: no"
    assert json.loads(fake.requests[1].content) == {"files": files}
    message = call(tools.make_export_files_tool(client), files=[{"source": "a"}])
    assert message.content == "a: artifact a.csv (3 bytes): art_1"
    assert message.artifact == [{"source": "a", "ok": True, "artifact": ARTIFACT}]


def test_all_tools_at_once():
    _, client = a_client()
    assert [tool.name for tool in tools.make_sandbox_tools(client)] == [
        "code_sandbox",
        "terminal",
        "import_files",
        "export_files",
    ]
    assert len(tools.make_sandbox_tools(client, session={"datasets": "API"})) == 7
    assert len(tools.make_sandbox_tools(client, session={"datasets": {"access": "LOCAL_RO"}})) == 5


def test_the_model_is_told_once_that_the_sandbox_is_no_container():
    wasm = {"id": "ses_1", "key": "thread-1", "status": "ready", "engine": "wasm"}
    _, client = a_client(execution(), execution(), session=wasm)
    tool = tools.make_code_sandbox_tool(client)
    assert "no shell" not in tool.description
    assert call(tool, code="1").content.startswith("[The sandbox runs Python in WebAssembly")
    assert call(tool, code="1").content == "hi\n42"


def test_tools_for_webassembly_have_no_terminal_and_say_why():
    names = {tool.name for tool in tools.make_sandbox_tools(session={"engine": "wasm"})}
    assert "code_sandbox" in names and "terminal" not in names
    assert "no shell" in tools.make_code_sandbox_tool(session={"engine": "wasm"}).description
