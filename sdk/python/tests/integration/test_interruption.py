"""Ctrl-C in a real process, cancellation in a real loop."""

import asyncio
import gc
import signal
import subprocess
import sys
import time

import pytest

from sandbar import AsyncSandbar, Sandbar

PROGRAM = """
import sys
from sandbar import Sandbar
session = Sandbar.from_env().get_session(sys.argv[1])
code = "import time\\nkept = 1\\nprint('go', flush=True)\\ntime.sleep(60)"
try:
    if sys.argv[2] == "run":
        session.run(code)
    else:
        for event in session.stream(code):
            pass
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("how", ["run", "stream"])
def test_ctrl_c_interrupts_the_cell_and_keeps_the_variables(how):
    with Sandbar.from_env() as client, client.session() as session:
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, session.id, how], stdout=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 30
        while True:
            found = next(iter(session.executions()), None)
            if found is not None and found.stdout == "go\n":
                break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=20)
        assert out == "stopped\n"
        assert session.events(found.id).result().status == "interrupted"
        assert session.run("kept").text == "1"


@pytest.mark.anyio
async def test_cancellation_interrupts_the_cell():
    async with AsyncSandbar.from_env() as client, await client.session() as session:
        code = "import time\nkept = 1\nprint('go', flush=True)\ntime.sleep(600)"
        running = asyncio.ensure_future(session.run(code, timeout_s=600))
        while not [item async for item in session.executions() if item.stdout == "go\n"]:
            await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        [execution] = [item async for item in session.executions()]
        assert (await session.events(execution.id).result()).status == "interrupted"
        assert (await session.run("kept")).text == "1"


@pytest.mark.anyio
async def test_many_sessions_at_once_stay_apart():
    async with AsyncSandbar.from_env() as client:

        async def one(number):
            async with await client.session() as session:
                await session.run(f"x = {number}")
                return (await session.run("x")).text

        assert await asyncio.gather(*(one(number) for number in range(4))) == ["0", "1", "2", "3"]


def test_a_half_read_answer_is_closed_wherever_the_collector_finds_it():
    with Sandbar.from_env() as client, client.session() as session:
        session.files.write("large.bin", b"x" * 8_000_000)
        chunks = session.files.read_chunks("large.bin")
        assert next(iter(chunks))
        forgotten: list = [chunks]
        forgotten.append(forgotten)
        del chunks, forgotten
        pool = client._http._client._transport._pool
        assert len(pool.connections) > 0
        with pool._optional_thread_lock:  # as in the middle of another request
            gc.collect()
        deadline = time.monotonic() + 10
        while any(not connection.is_idle() for connection in pool.connections):
            assert time.monotonic() < deadline
            time.sleep(0.01)
