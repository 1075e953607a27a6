import dataclasses

import pytest

import sandbar
from sandbar import AsyncSandbar, AsyncSandbox

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def client():
    async with AsyncSandbar.from_env() as client:
        yield client


@pytest.fixture(scope="module")
async def session(client):
    async with await client.session() as session:
        yield session


async def test_the_same_key_is_the_same_session(client, unique):
    async with await client.session(unique, labels={"team": "py"}) as session:
        again = await client.session(unique, labels={"team": "py"})
        assert (again.id, again.key) == (session.id, unique)
        assert [info.id async for info in client.sessions(key=unique)] == [session.id]
        assert session.id in [info.id async for info in client.sessions(label="team:py", status="ready")]
        assert (await client.get_session(session.id)).key == unique
        with pytest.raises(sandbar.ConflictError) as caught:
            await client.session(unique, runtime="bash")
        assert caught.value.code == "SESSION_KEY_CONFLICT" and caught.value.request_id
    assert (await session.refresh()).status == "stopped"


async def test_run_keeps_state_and_answers_everything(session):
    await session.run("import math\nx = 6")
    execution = await session.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nx * 7")
    assert (execution.status, execution.stdout, execution.stderr, execution.text) == (
        "ok",
        "out\n",
        "err\n",
        "42",
    )
    assert execution.ok and execution.results == ({"text/plain": "42"},) and execution.duration_ms >= 0
    assert (execution.state.variables, execution.session_id) == ("kept", session.id)
    state = await session.state()
    assert "x" in state and "nothing" not in state and state.cwd
    found = await session.execution(execution.id)
    assert found.code.endswith("x * 7") and dataclasses.replace(found, code=None) == execution
    assert execution.id in [item.id async for item in session.executions()]


async def test_metrics_say_what_a_session_uses(client, session):
    metrics = await session.metrics()
    assert metrics.data[-1].memory_bytes > 1_000_000 and metrics.data[-1].processes > 0
    assert metrics.limits["memory_bytes"] and metrics.interval_ms == 5000
    assert (await client.session_metrics())[session.id][-1].cpu_percent >= 0


async def test_completion_counts_as_python_does(session):
    await session.run("number = 7")
    code = "'😀', numb + 1"
    found = await session.complete(code, cursor=len("'😀', numb"))
    assert [(match.text, match.type) for match in found.matches] == [("number", "instance")]
    assert code[found.start : found.end] == "numb" and not found.busy


async def test_the_client_knows_who_it_is_and_makes_links_for_browsers(client, session):
    me = await client.me()
    assert me.tenant and me.key["id"].startswith("key_") and "agent" in me.scopes and me.via == "key"
    async for line in client.audit(action="session.create"):
        assert line.result == "ok" and line.target.startswith("ses_")
        break
    policy = await client.policy()
    assert policy.allow["volumes"] is True and "container" in policy.engines
    set_ = await client.policies.put("py-tenant", {"allow": {"egress": False}, "shares": {"sessions": 5}})
    assert set_.effective["allow"]["egress"] is False and set_.effective["shares"]["sessions"] == 5
    assert "py-tenant" in [one.tenant async for one in client.policies.list()]
    await client.policies.remove("py-tenant")
    assert (await client.policies.get("py-tenant")).policy == {}
    link = await client.console_link()
    assert link.url.endswith(f"/sign-in#{link.code}")
    assert "/preview/" in (await session.preview(8000)).url


async def test_network_by_name_and_its_secrets(client):
    stored = await client.secrets.put("py-secret", "Bearer abc", hosts=["api.example.com"])
    assert stored.hosts == ["api.example.com"] and "abc" not in str(stored.raw)
    assert "py-secret" in [one.name async for one in client.secrets.list()]
    secret = {"host": "api.example.com", "header": "Authorization", "secret": "py-secret"}
    session = await client.session(network={"allow": ["files.example.org"], "secrets": [secret]})
    assert session.info.network == {"allow": ["files.example.org"], "secrets": [secret]}
    network = await session.set_network({"allow": ["*.example.com:443"]})
    assert network.allow == ["*.example.com:443"] and network.secrets == []
    assert (await session.network()).use["connections"] == 0
    await session.stop()
    await client.secrets.remove("py-secret")


async def test_settings_of_the_agent_are_kept_and_their_keys_are_not_shown(client):
    changed = await client.settings.update(model="openai:gpt-4o", api_key="sk-of-a-test-1234", iterations=7)
    assert (changed.model, changed.iterations, changed.ready) == ("openai:gpt-4o", 7, True)
    assert changed.api_keys["openai"]["last_four"] == "1234" and "sk-of-a-test" not in str(changed.raw)
    with pytest.raises(sandbar.InvalidRequestError):
        await client.settings.update(model="nobody:x")
    assert "openai" in [choice.provider for choice in await client.settings.models()]
    back = await client.settings.update(api_key=None, model=None, iterations=None)
    assert (back.iterations, list(back.own)) == (25, [])


async def test_events_tell_what_happens_and_resume(client, session):
    seen = []
    execution = None
    async for event in client.events():
        seen.append(event)
        if event.type == "hello":
            execution = await session.run("'watched'")
        if event.data.get("execution") == execution.id and event.data["state"] == "ended":
            break
    assert seen[0].type == "hello" and seen[-1].data["code"] == "'watched'"
    async for event in client.events(last_event_id=seen[0].id):
        if event.data.get("execution") == execution.id:
            break
    series = await client.usage_series(step=60)
    assert (series.step_s, sum(point.executions for point in series.data) > 0) == (60, True)


async def test_an_exception_is_in_the_record_and_raised_on_request(session):
    execution = await session.run("1 / 0")
    assert execution.error.name == "ZeroDivisionError" and "1 / 0" in execution.error.traceback
    with pytest.raises(sandbar.ExecutionFailed) as caught:
        await session.run("1 / 0", check=True)
    assert caught.value.code == "EXECUTION_ERROR" and caught.value.execution.error.value == "division by zero"


async def test_stdin_env_and_timeout(session):
    assert (await session.run("input()", stdin="hello\n")).text == "'hello'"
    assert (await session.run("import os; os.environ['A']", env={"A": "1"})).text == "'1'"
    execution = await session.run("while True: pass", timeout_s=0.5)
    assert (execution.status, execution.error.name) == ("timeout", "EXECUTION_TIMEOUT")


async def test_images(session):
    execution = await session.run(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()", timeout_s=60
    )
    assert execution.png()[:4] == b"\x89PNG"
    assert "data:image/png;base64," in execution._repr_mimebundle_()["text/html"]


async def test_sh_keeps_its_directory(session):
    await session.sh("cd /tmp && export MARK='it''s here'")
    execution = await session.sh('pwd; echo "$MARK"; exit_with() { return 3; }; exit_with')
    assert (execution.stdout, execution.exit_code) == ("/tmp\nits here\n", 3)


async def test_stream(session):
    stream = session.stream(
        "import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.1)\n'end'"
    )
    events = [event async for event in stream]
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert "".join(event.text for event in events if event.type == "stdout") == "0\n1\n2\n"
    assert (events[0].type, events[-1].type, stream.execution.text) == ("started", "finished", "'end'")
    assert stream.execution_id == stream.execution.id


async def test_events_from_the_start_or_after_one(session):
    execution = await session.run("print('a')\n'b'")
    events = [event async for event in session.events(execution.id)]
    assert events[-1].execution == execution
    later = [event async for event in session.events(execution.id, last_event_id=events[0].id)]
    assert later == events[1:]
    assert await session.events(execution.id).result() == execution


async def test_a_connection_cut_again_and_again_loses_nothing(session):
    stream = session.stream(
        "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.05)"
    )
    events = []
    async for event in stream:
        events.append(event)
        if len(events) % 4 == 0 and stream._response is not None:
            await stream._hang_up()
            stream._waiting.clear()
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert "".join(event.text for event in events) == "".join(f"{i}\n" for i in range(30))


async def test_one_idempotency_key_starts_once(session):
    first = await session.run("n = globals().get('n', 0) + 1\nn", idempotency_key="once")
    second = await session.run("n = globals().get('n', 0) + 1\nn", idempotency_key="once")
    assert first == second and (await session.run("n")).text == "1"
    with pytest.raises(sandbar.ConflictError) as caught:
        await session.run("other", idempotency_key="once")
    assert caught.value.code == "IDEMPOTENCY_CONFLICT" and caught.value.hint


async def test_start_and_interrupt(session):
    execution = await session.start("import time\nkept = 1\ntime.sleep(60)")
    assert not execution.done
    async for event in session.events(execution.id):
        if event.type == "started":
            await session.interrupt(execution.id)
    assert (await session.execution(execution.id)).status == "interrupted"


async def test_contexts_are_kernels_of_their_own(session):
    await session.run("x = 1")
    context = await session.contexts.create("other", "python")
    assert (await session.contexts.create("other", "python")).id == context.id
    assert (await session.run("'x' in globals()", context="other")).text == "False"
    await session.run("y = 1", context=context.id)
    await session.contexts.restart(context.id)
    assert (await session.run("'y' in globals()", context="other")).text == "False"
    assert "other" in [item.name for item in await session.contexts.list()]
    await session.contexts.delete(context.id)
    assert "other" not in [item.name for item in await session.contexts.list()]


async def test_a_stopped_session_says_so(client):
    session = await client.session()
    await session.stop()
    await session.stop()
    with pytest.raises(sandbar.SessionEndedError) as caught:
        await session.run("1")
    assert (caught.value.code, caught.value.retryable) == ("SESSION_ENDED", False)


async def test_a_wrong_key_and_a_wrong_id():
    async with AsyncSandbar(api_key="wrong") as client:
        with pytest.raises(sandbar.AuthenticationError) as caught:
            await client.session()
        assert caught.value.code == "UNAUTHENTICATED" and caught.value.hint
    async with AsyncSandbar.from_env() as client:
        with pytest.raises(sandbar.NotFoundError):
            await client.get_session("ses_00000000000000000000000000")


async def test_wrong_fields_are_named(session):
    with pytest.raises(sandbar.InvalidRequestError) as caught:
        await session.run("1", timeout_s=-1)
    assert caught.value.errors[0]["path"] == "timeout_s"


async def test_the_sandbox_of_the_seed():
    async with AsyncSandbox() as sandbox:
        result = await sandbox.execute("echo hello; ls -la /")
        assert result["output"].startswith("hello\n") and result["exit_code"] == 0
        assert (await sandbox.run("1 + 1")).text == "2"
    assert (await AsyncSandbar.from_env().get_session(sandbox.id)).status == "stopped"


async def test_a_sandbox_of_another_runtime():
    async with AsyncSandbox(runtime="bash") as sandbox:
        assert (await sandbox.execute("echo $((6 * 7))")).stdout == "42\n"


async def test_a_token_is_one_session_for_somebody_else(client):
    async with await client.session() as session:
        await session.run("x = 21")
        made = await session.create_token(["run"], ttl_s=600, label="friend")
        assert [one.label async for one in session.tokens()] == ["friend"]
        async with AsyncSandbar(client.url, made.token) as friend:
            assert friend.has_token and not client.has_token
            own = await friend.attach()
            assert own.id == session.id and (await own.run("x * 2")).text == "42"
            with pytest.raises(sandbar.PermissionDeniedError) as refused:
                await own.files.read("/session/a")
            assert refused.value.code == "FORBIDDEN_BY_TOKEN"
            await session.remove_token(made.id)
            with pytest.raises(sandbar.AuthenticationError):
                await own.run("x")
        with pytest.raises(sandbar.SandbarError, match="API key"):
            await client.attach()
