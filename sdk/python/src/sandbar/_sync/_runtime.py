"""Where asynchronous and blocking code truly differ. Written by hand in both folders; all else is generated."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Callable, ClassVar, TypeVar

import httpx

from .._content import Content

T = TypeVar("T")

sleep = time.sleep


def interruptions() -> tuple[type[BaseException], ...]:
    """What ends a wait from outside."""
    return (KeyboardInterrupt,)


@contextmanager
def last_words(seconds: float) -> Iterator[None]:
    """Nothing to shield from: a second Ctrl-C ends the last words too."""
    yield


def in_thread(function: Callable[..., T], *args: Any) -> T:
    return function(*args)


def outcome_of(value: Any) -> Any:
    """What a caller's function returned."""
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError("the function is asynchronous: use AsyncSandbar, or give a blocking function")
    return value


def body_of(content: Content) -> Iterator[bytes]:
    return content.chunks()


class bytes_of:  # noqa: N801 - a function in the asynchronous twin
    """The bytes of a streamed answer, as they come.

    The garbage collector may find an answer that was left half-read at any moment, also while this thread holds the
    lock of the connection pool; closing it wants that lock. So answers are kept here, where the collector never meets
    them, and another thread closes what nobody reads any more.
    """

    _kept: ClassVar[dict[object, tuple[httpx.Response, Iterator[bytes]]]] = {}

    def __init__(self, response: httpx.Response) -> None:
        self._key = object()
        self._response = response
        self._bytes = response.iter_bytes()
        self._kept[self._key] = (response, self._bytes)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._bytes)
        except BaseException:
            self._response.close()
            self._kept.pop(self._key, None)
            raise

    def __del__(self) -> None:
        if self._response.is_closed:
            self._kept.pop(self._key, None)
        elif self._key in self._kept:
            with suppress(RuntimeError):  # the interpreter ends, and its connections with it
                threading.Thread(target=_close_kept, args=(self._key,), daemon=True).start()


def _close_kept(key: object) -> None:
    response, _ = bytes_of._kept.pop(key)
    response.close()


def leave(response: httpx.Response) -> None:
    """Nothing to do here: what reads the bytes closes the answer when it is let go."""
