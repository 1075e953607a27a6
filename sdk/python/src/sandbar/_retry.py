"""When, and after how long, the same request is sent again."""

from __future__ import annotations

import random
from typing import Callable, Optional

from ._errors import SandbarError

BASE_S = 0.2
MAX_S = 5.0
#: A server that asks for more patience than this gets its error passed on to the caller.
RETRY_AFTER_MAX_S = 30.0


def backoff_s(attempt: int, rand: Callable[[], float] = random.random) -> float:
    """Half fixed, half jitter: many clients that were cut at once do not come back at once."""
    return min(MAX_S, BASE_S * 2.0**attempt) * (0.5 + rand() / 2)


def retry_delay_s(
    error: SandbarError,
    attempt: int,
    max_retries: int,
    *,
    idempotent: bool,
    sent: bool = True,
    rand: Callable[[], float] = random.random,
) -> Optional[float]:
    """Seconds until the next try, or None when there should be none. ``attempt`` counts from 0."""
    if attempt >= max_retries or not _is_transient(error, idempotent, sent):
        return None
    if error.retry_after_s is None:
        return backoff_s(attempt, rand)
    if error.retry_after_s > RETRY_AFTER_MAX_S:
        return None
    return error.retry_after_s + rand() * BASE_S


def _is_transient(error: SandbarError, idempotent: bool, sent: bool) -> bool:
    if error.status == 0:
        # A request that may have arrived is repeated only where twice is the same as once.
        return error.retryable and (idempotent or not sent)
    if not error.retryable:
        return False
    if error.code == "SESSION_NOT_READY":
        return True
    if error.status == 429:
        return error.retry_after_s is not None
    return error.status == 503 or (idempotent and error.status in (502, 504))
