"""Where asynchronous and blocking code truly differ. Written by hand in both folders; all else is generated."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

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
