"""Events of the server as they happen: of a tenant, a session, a process, a folder."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Callable, Optional

import httpx

from .._errors import connection_failed
from .._models import TenantEvent
from .._retry import backoff_s
from .._sse import RawEvent, SseDecoder
from ._http import AsyncHttp
from ._runtime import bytes_of, leave, sleep
from ._stream import SILENCE_S


async def server_events(
    http: AsyncHttp,
    path: str,
    *,
    params: Optional[Mapping[str, Any]] = None,
    last_event_id: Optional[str] = None,
    resume: bool = True,
    on_open: Optional[Callable[[], object]] = None,
) -> AsyncIterator[RawEvent]:
    """Until it is left. With ``resume`` a cut connection goes on after the last event, unless the server cannot be
    reached for long; without, the end of the connection is the end."""
    position = last_event_id
    failures = 0
    while True:
        cause: Exception = EOFError("the event stream ended")
        try:
            headers = {"accept": "text/event-stream"}
            if position is not None:
                headers["last-event-id"] = position
            response = await http.send(
                "GET", path, params=params, headers=headers, timeout_s=SILENCE_S, stream=True
            )
            if on_open is not None:
                on_open()
            try:
                decoder = SseDecoder()
                async for chunk in bytes_of(response):
                    for raw in decoder.feed(chunk):
                        failures = 0
                        position = raw.id or position
                        yield raw
            finally:
                await leave(response)
            if not resume:
                return
        except httpx.TransportError as caught:
            cause = caught
        failures += 1
        if not resume or failures > http.config.max_retries:
            raise connection_failed(cause, timed_out=isinstance(cause, httpx.TimeoutException)) from cause
        await sleep(backoff_s(failures - 1))


async def tenant_events(http: AsyncHttp, last_event_id: Optional[str]) -> AsyncIterator[TenantEvent]:
    async for raw in server_events(http, "/v1/events", last_event_id=last_event_id):
        yield TenantEvent(raw.id, raw.event, json.loads(raw.data))
