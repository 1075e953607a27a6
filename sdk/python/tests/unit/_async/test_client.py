import json

import httpx
import pytest
from fake_sandbar import EXECUTION, FakeSandbar, execution, problem, sse

import sandbar
from sandbar import AsyncSandbar, AsyncSandbox
from sandbar._async import _http, _session, _stream

pytestmark = pytest.mark.anyio

PAUSES = []


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    PAUSES.clear()

    async def pause(seconds):
        PAUSES.append(seconds)

    for module in (_http, _session, _stream):
        monkeypatch.setattr(module, "sleep", pause)


async def a_session(*answers):
    fake = FakeSandbar(*answers)
    client = AsyncSandbar("http://sandbar.test/", "secret", transport=fake)
    session = await client.session("k", runtime="python", datasets="API", dependencies=["numpy"])
    return fake, session


async def test_session_is_created_by_its_key_with_the_bearer_token():
    fake, session = await a_session()
    request = fake.requests[0]
    assert request.headers["authorization"] == "Bearer secret"
    assert json.loads(request.content) == {
        "key": "k",
        "runtime": "python",
        "datasets": {"access": "API"},
        "dependencies": {"numpy": ""},
    }
    assert (session.id, session.key, session.info.raw["new_field"]) == ("ses_1", "k", 1)


async def test_a_session_without_a_key_gets_one_that_makes_the_request_repeatable():
    fake = FakeSandbar()
    await AsyncSandbar("http://sandbar.test", "x", transport=fake).session()
    assert json.loads(fake.requests[0].content)["key"].startswith("py-")


async def test_an_id_cannot_lead_to_another_path():
    answers = [problem(404, "NOT_FOUND") for _ in range(4)]
    fake, session = await a_session(*answers)
    client = AsyncSandbar("http://sandbar.test", "x", transport=fake)
    for ask in (
        lambda: client.artifacts.get("../keys"),
        lambda: client.get_session("../keys"),
        lambda: session.execution("../../../keys?x"),
        lambda: session.interrupt("a/b"),
    ):
        with pytest.raises(sandbar.NotFoundError):
            await ask()
    assert [request.url.raw_path for request in fake.requests[1:]] == [
        b"/v1/artifacts/..%2Fkeys",
        b"/v1/sessions/..%2Fkeys",
        b"/v1/sessions/ses_1/executions/..%2F..%2F..%2Fkeys%3Fx",
        b"/v1/sessions/ses_1/executions/a%2Fb/interrupt",
    ]


async def test_run_once_is_sent_once_because_its_code_would_run_again():
    fake = FakeSandbar(problem(503, "HOST_UNREACHABLE", retryable=True))
    client = AsyncSandbar("http://sandbar.test", "x", transport=fake)
    with pytest.raises(sandbar.SandbarError, match="HOST_UNREACHABLE"):
        await client.run_once("x", keep="bytes")
    assert len(fake.requests) == 1


async def test_run_once_says_why_nothing_was_kept():
    error = {"code": "HOST_UNREACHABLE", "detail": "because", "hint": "do this"}
    fake = FakeSandbar(httpx.Response(200, json={"execution": EXECUTION, "keep_error": error}))
    answer = await AsyncSandbar("http://sandbar.test", "x", transport=fake).run_once("x", keep="snapshot")
    assert (answer.execution.text, answer.snapshot, answer.keep_error) == ("42", None, error)


async def test_run_retries_with_the_same_idempotency_key():
    fake, session = await a_session(
        httpx.ReadError("cut"),
        httpx.ConnectError("refused"),
        problem(503, "HOST_UNREACHABLE", retryable=True),
        execution(),
    )
    assert (await session.run("x")).text == "42"
    keys = {request.headers["idempotency-key"] for request in fake.requests[1:]}
    assert len(fake.requests) == 5 and len(keys) == 1
    assert sorted(PAUSES) == PAUSES and len(PAUSES) == 3


async def test_two_runs_have_two_keys():
    fake, session = await a_session(execution(), execution())
    await session.run("x")
    await session.run("x")
    assert fake.requests[1].headers["idempotency-key"] != fake.requests[2].headers["idempotency-key"]


async def test_retry_after_is_honoured():
    _, session = await a_session(
        problem(429, "RATE_LIMITED", retryable=True, headers={"retry-after": "3"}), execution()
    )
    await session.run("x")
    assert 3 <= PAUSES[0] < 4


async def test_a_retry_after_beyond_patience_is_the_callers_to_wait():
    _, session = await a_session(
        problem(503, "NO_HOST_AVAILABLE", retryable=True, headers={"retry-after": "600"})
    )
    with pytest.raises(sandbar.UnavailableError) as caught:
        await session.run("x")
    assert caught.value.retry_after_s == 600 and PAUSES == []


async def test_errors_are_typed_and_carry_what_the_problem_said():
    _, session = await a_session(
        problem(400, "VALIDATION_FAILED", errors=[{"path": "code", "message": "too long"}])
    )
    with pytest.raises(sandbar.InvalidRequestError) as caught:
        await session.run("x")
    error = caught.value
    assert (error.code, error.hint, error.retryable, error.request_id, error.status) == (
        "VALIDATION_FAILED",
        "do this",
        False,
        "req_1",
        400,
    )
    assert error.errors == [{"path": "code", "message": "too long"}] and "too long" in str(error)


async def test_a_request_that_is_not_idempotent_is_not_repeated_once_it_may_have_arrived():
    fake, session = await a_session(httpx.ConnectError("refused"), httpx.ReadError("cut"))
    with pytest.raises(sandbar.ConnectionFailedError) as caught:
        await session.export_files(["a"])
    assert caught.value.code == "NETWORK_ERROR" and len(fake.requests) == 3


async def test_gives_up_after_max_retries():
    fake, session = await a_session(*[httpx.ConnectError("refused")] * 9)
    with pytest.raises(sandbar.ConnectionFailedError):
        await session.run("x")
    assert len(fake.requests) == 1 + 5


async def test_cuts_after_long_waits_do_not_add_up(monkeypatch):
    monkeypatch.setattr(_session, "PROGRESS_S", -1.0)
    cuts = [httpx.ReadError("cut")] * 5
    _, session = await a_session(
        *cuts, execution(status="running"), *cuts, execution(status="running"), execution()
    )
    assert (await session.run("x")).ok
    _, session = await a_session(*cuts, *cuts)
    with pytest.raises(sandbar.ConnectionFailedError):
        await session.run("x")


async def test_a_long_wait_asks_whether_the_server_is_there_and_waits_on():
    fake, session = await a_session(
        httpx.ReadTimeout("slow"), execution(status="running"), httpx.ReadTimeout("slow"), execution()
    )
    assert (await session.run("x")).ok
    assert [request.headers.get("prefer") for request in fake.requests[1:]] == [
        None,
        "respond-async",
        None,
        "respond-async",
    ]
    assert len({request.headers["idempotency-key"] for request in fake.requests[1:]}) == 1


async def test_check_raises_with_the_record():
    _, session = await a_session(
        execution(
            status="died",
            error={"name": "OOM_KILLED", "value": "no memory", "traceback": ""},
            state={"variables": "lost", "files": "kept"},
        )
    )
    with pytest.raises(sandbar.ExecutionFailed) as caught:
        await session.run("x", check=True)
    error = caught.value
    assert error.code == "OOM_KILLED" and "larger limits.memory_mb" in error.hint
    assert error.execution.state.variables == "lost" and error.execution_id == "exe_1"


async def test_stream_yields_events_and_then_the_record():
    fake, session = await a_session(
        sse(
            (1, "started", {}),
            (2, "stdout", {"text": "grüße\u2028\n"}),
            (3, "result", {"text/plain": "42"}),
            (4, "finished", EXECUTION),
        )
    )
    stream = session.stream("x", timeout_s=5)
    events = [event async for event in stream]
    assert [event.type for event in events] == ["started", "stdout", "result", "finished"]
    assert events[1].text == "grüße\u2028\n" and events[2].text == "42"
    assert stream.execution == events[3].execution and stream.execution.stdout == "hi\n"
    request = fake.requests[1]
    assert request.headers["accept"] == "text/event-stream"
    assert json.loads(request.content) == {"code": "x", "timeout_s": 5}


@pytest.mark.parametrize("error", [httpx.ReadError("cut"), httpx.ReadTimeout("silence"), None])
async def test_a_cut_stream_resumes_after_the_last_event_without_gap_or_repeat(error):
    fake, session = await a_session(
        sse((1, "started", {}), (2, "stdout", {"text": "a"}), error=error),
        execution(status="running"),
        sse((3, "stdout", {"text": "b"}), error=error),
        httpx.ConnectError("refused"),
        # A server that starts over.
        sse(
            (2, "stdout", {"text": "a"}),
            (3, "stdout", {"text": "b"}),
            (4, "stdout", {"text": "c"}),
            error=error,
        ),
        sse((5, "finished", EXECUTION)),
    )
    events = [event async for event in session.stream("x")]
    assert [event.id for event in events] == [1, 2, 3, 4, 5]
    assert "".join(event.text for event in events if event.type == "stdout") == "abc"
    assert fake.calls[1:] == [
        "POST /v1/sessions/ses_1/executions",
        "POST /v1/sessions/ses_1/executions",
        *["GET /v1/sessions/ses_1/executions/exe_1/events"] * 4,
    ]
    assert fake.requests[1].headers["idempotency-key"] == fake.requests[2].headers["idempotency-key"]
    assert fake.requests[2].headers["prefer"] == "respond-async"
    assert [request.headers["last-event-id"] for request in fake.requests[3:]] == ["2", "3", "3", "4"]


async def test_a_stream_that_never_gets_further_says_so():
    _, session = await a_session(
        sse((1, "started", {})), execution(status="running"), *[sse() for _ in range(9)]
    )
    with pytest.raises(sandbar.ConnectionFailedError) as caught:
        async for _ in session.stream("x"):
            pass
    assert caught.value.execution_id == "exe_1"


async def test_an_exception_in_the_streams_block_interrupts_the_code():
    fake, session = await a_session(
        sse((1, "started", {}), (2, "stdout", {"text": "a"})),
        execution(status="running"),
        httpx.Response(202, json={}),
    )
    with pytest.raises(ZeroDivisionError):
        async with session.stream("x") as events:
            async for _ in events:
                raise ZeroDivisionError
    assert fake.calls[-1] == "POST /v1/sessions/ses_1/executions/exe_1/interrupt"


async def test_leaving_a_stream_early_lets_the_code_run():
    fake, session = await a_session(sse((1, "started", {}), (2, "stdout", {"text": "a"})))
    async with session.stream("x") as events:
        async for _ in events:
            break
    assert len(fake.requests) == 2


async def test_ctrl_c_in_run_interrupts_the_code():
    fake, session = await a_session(
        KeyboardInterrupt(), execution(status="running"), httpx.Response(202, json={})
    )
    with pytest.raises(KeyboardInterrupt):
        await session.run("x")
    assert fake.calls[-2:] == [
        "POST /v1/sessions/ses_1/executions",
        "POST /v1/sessions/ses_1/executions/exe_1/interrupt",
    ]
    assert fake.requests[-2].headers["idempotency-key"] == fake.requests[1].headers["idempotency-key"]


async def test_ctrl_c_in_a_stream_interrupts_the_code():
    fake, session = await a_session(
        sse((1, "started", {}), error=KeyboardInterrupt()),
        execution(status="running"),
        httpx.Response(202, json={}),
    )
    with pytest.raises(KeyboardInterrupt):
        async for _ in session.stream("x"):
            pass
    assert fake.calls[-1] == "POST /v1/sessions/ses_1/executions/exe_1/interrupt"


async def test_ctrl_c_after_the_end_interrupts_nothing():
    fake, session = await a_session(KeyboardInterrupt(), execution())
    with pytest.raises(KeyboardInterrupt):
        await session.run("x")
    assert len(fake.requests) == 3


async def test_lists_follow_the_cursor():
    fake, session = await a_session(
        httpx.Response(200, json={"data": [EXECUTION], "next_cursor": "c"}),
        httpx.Response(200, json={"data": [EXECUTION], "next_cursor": None}),
    )
    assert len([item async for item in session.executions()]) == 2
    assert fake.requests[2].url.params["cursor"] == "c"


async def test_sh_asks_for_bash():
    fake, session = await a_session(execution(exit_code=3))
    assert (await session.sh("exit 3")).exit_code == 3
    assert json.loads(fake.requests[1].content) == {"code": "exit 3", "language": "bash"}


async def test_the_sandbox_lives_as_long_as_its_block():
    fake = FakeSandbar(execution(exit_code=0), httpx.Response(204))
    client = AsyncSandbar("http://sandbar.test", "x", transport=fake)
    async with AsyncSandbox(client=client) as sandbox:
        result = await sandbox.execute("ls -la")
    assert (result["output"], result["exit_code"]) == ("hi\n", 0)
    assert json.loads(fake.requests[1].content) == {"code": "ls -la", "language": "bash"}
    assert fake.calls[-1] == "DELETE /v1/sessions/ses_1"


async def test_a_sandbox_with_a_runtime_executes_that():
    fake = FakeSandbar(execution(), httpx.Response(204))
    client = AsyncSandbar("http://sandbar.test", "x", transport=fake)
    async with AsyncSandbox(client=client, runtime="python", limits={"memory_mb": 256}) as sandbox:
        await sandbox.execute("6 * 7")
    assert json.loads(fake.requests[0].content)["limits"] == {"memory_mb": 256}
    assert json.loads(fake.requests[1].content)["language"] == "python"


async def test_a_sandbox_that_is_not_open_says_so():
    sandbox = AsyncSandbox("http://sandbar.test")
    with pytest.raises(sandbar.SandbarError, match="not open"):
        await sandbox.execute("ls")
    await sandbox.aclose()


async def test_what_went_wrong_inside_the_block_matters_more_than_a_failed_stop():
    fake = FakeSandbar(problem(500, "INTERNAL"))
    client = AsyncSandbar("http://sandbar.test", "x", transport=fake)
    with pytest.raises(ZeroDivisionError):
        async with AsyncSandbox(client=client):
            raise ZeroDivisionError


async def test_interrupting_a_cancelled_request_needs_the_server_only_once():
    fake, session = await a_session(KeyboardInterrupt(), httpx.ConnectError("gone"))
    with pytest.raises(KeyboardInterrupt):
        await session.run("x")
    assert len(fake.requests) == 3


SETTINGS = {
    "model": "openai:gpt-4o",
    "api_keys": {"openai": {"set": True, "last_four": "abcd", "from": "settings"}},
    "own": ["model"],
    "ready": True,
}


async def test_settings_are_shown_changed_and_tested():
    choices = {"providers": [{"provider": "ollama", "ready": True, "models": ["ollama:qwen3"]}]}
    verdict = {"ok": False, "detail": "openai:gpt-4o said 401", "model": "openai:gpt-4o", "duration_ms": 12}
    fake = FakeSandbar(
        httpx.Response(200, json=SETTINGS),
        httpx.Response(200, json=SETTINGS),
        httpx.Response(200, json=verdict),
        httpx.Response(200, json=choices),
    )
    client = AsyncSandbar("http://sandbar.test", "x", transport=fake)
    shown = await client.settings.get()
    assert (shown.model, shown.ready) == ("openai:gpt-4o", True)
    assert shown.api_keys["openai"]["last_four"] == "abcd"
    await client.settings.update(model="openai:gpt-4o", api_key="sk-secret", temperature=None)
    assert (await client.settings.test(model="openai:gpt-4o")).detail == "openai:gpt-4o said 401"
    assert [choice.models for choice in await client.settings.models()] == [["ollama:qwen3"]]
    assert [(request.method, request.url.path) for request in fake.requests] == [
        ("GET", "/v1/settings"),
        ("PUT", "/v1/settings"),
        ("POST", "/v1/settings/test"),
        ("GET", "/v1/settings/models"),
    ]
    # What is left out stays as it is; None is said.
    assert json.loads(fake.requests[1].content) == {
        "model": "openai:gpt-4o",
        "api_key": "sk-secret",
        "temperature": None,
    }
