"""Where asynchronous and blocking code truly differ. Written by hand in both folders; all else is generated."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

import anyio
import anyio.to_thread
import httpx

from .._content import Content

T = TypeVar("T")

sleep = anyio.sleep


def interruptions() -> tuple[type[BaseException], ...]:
    """What ends a wait from outside."""
    return (anyio.get_cancelled_exc_class(), KeyboardInterrupt)


@contextmanager
def last_words(seconds: float) -> Iterator[None]:
    """Lets a cancelled task still say something."""
    with anyio.move_on_after(seconds, shield=True):
        yield


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    return await anyio.to_thread.run_sync(function, *args)


async def outcome_of(value: Any) -> Any:
    """What a caller's function returned, awaited where it must be."""
    return await value if inspect.isawaitable(value) else value


async def body_of(content: Content) -> AsyncIterator[bytes]:
    if hasattr(content.source, "__aiter__"):
        async for chunk in content.source:
            yield chunk
        return
    chunks = content.chunks()
    while True:
        chunk = await in_thread(next, chunks, None)
        if chunk is None:
            return
        yield chunk


def bytes_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """The bytes of a streamed answer, as they come."""
    return response.aiter_bytes()


async def leave(response: httpx.Response) -> None:
    await response.aclose()
