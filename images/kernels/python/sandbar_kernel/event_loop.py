"""The asyncio loop that cells share: kept between them, running whenever there is something to run."""

import sys

_modules = sys.modules
_KeyboardInterrupt = KeyboardInterrupt
CANCEL_S = 0.5


def run(loop, coroutine):
    """Like run_until_complete, but an interrupted coroutine is cancelled: it must not go on between cells."""
    asyncio = _modules["asyncio"]
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except _KeyboardInterrupt:
        if not task.done():
            task.cancel()
            loop.run_until_complete(asyncio.wait([task], timeout=CANCEL_S))
        raise


def run_until_readable(loop, fd: int) -> None:
    """Tasks that earlier cells left behind go on until the next request comes."""
    asyncio = _modules.get("asyncio")
    if asyncio is None or loop is None or loop.is_closed() or loop.is_running() or not asyncio.all_tasks(loop):
        return

    def readable() -> None:
        loop.remove_reader(fd)
        loop.stop()

    try:
        loop.add_reader(fd, readable)
        loop.run_forever()
    except BaseException:
        loop.remove_reader(fd)
