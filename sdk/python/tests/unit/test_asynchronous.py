"""What only asynchronous callers can do."""

import asyncio
import inspect

import httpx
import pytest
from fake_sandbar import EXECUTION, SESSION, FakeSandbar

from sandbar import AsyncSandbar, Sandbar

pytestmark = pytest.mark.anyio


class Hanging(httpx.AsyncBaseTransport):
    """The waiting answer never comes; everything else works."""

    def __init__(self):
        self.calls = []

    async def handle_async_request(self, request):
        self.calls.append((request.method, request.url.path, request.headers.get("prefer")))
        if request.url.path == "/v1/sessions":
            return httpx.Response(200, json=SESSION)
        if request.url.path.endswith("/interrupt"):
            return httpx.Response(202, json={})
        if request.headers.get("prefer"):
            return httpx.Response(202, json={**EXECUTION, "status": "running"})
        await asyncio.sleep(60)


async def test_cancelling_run_interrupts_the_code():
    hanging = Hanging()
    session = await AsyncSandbar("http://sandbar.test", "x", transport=hanging).session("k")
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(session.run("x"), 0.05)
    assert hanging.calls[-1][1] == "/v1/sessions/ses_1/executions/exe_1/interrupt"


async def test_cancelling_by_a_cancel_scope_interrupts_the_code_too():
    import anyio

    hanging = Hanging()
    session = await AsyncSandbar("http://sandbar.test", "x", transport=hanging).session("k")
    with anyio.move_on_after(0.05):
        await session.run("x")
    assert hanging.calls[-1][1] == "/v1/sessions/ses_1/executions/exe_1/interrupt"


async def test_datasets_take_an_asynchronous_function_and_asynchronous_chunks():
    fake = FakeSandbar(*[httpx.Response(200, json={"id": "d", "status": "LOADED"}) for _ in range(2)])
    session = await AsyncSandbar("http://sandbar.test", "x", transport=fake).session("k")

    async def fetch(dataset_id):
        return b"bytes"

    async def chunks():
        yield b"by"
        yield b"tes"

    await session.datasets.select("d", fetch)
    await session.datasets.select("d", lambda _: chunks())
    assert [await request.aread() for request in fake.requests[1:]] == [b"bytes", b"bytes"]


def test_the_blocking_client_refuses_an_asynchronous_function():
    session = Sandbar("http://sandbar.test", "x", transport=FakeSandbar()).session("k")

    async def fetch(dataset_id):
        return b""

    with pytest.raises(TypeError, match="asynchronous"):
        session.datasets.select("d", fetch)


def test_both_clients_have_the_same_methods():
    def shape(cls):
        return {name.replace("aclose", "close") for name in dir(cls) if not name.startswith("_")}

    assert shape(Sandbar) == shape(AsyncSandbar)
    assert inspect.iscoroutinefunction(AsyncSandbar.session) and not inspect.iscoroutinefunction(
        Sandbar.session
    )
