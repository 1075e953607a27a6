"""What happens in a tenant, as it happens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Optional

import httpx

from .._errors import connection_failed
from .._models import TenantEvent
from .._retry import backoff_s
from .._sse import SseDecoder
from ._http import AsyncHttp
from ._runtime import sleep
from ._stream import SILENCE_S


async def tenant_events(http: AsyncHttp, last_event_id: Optional[str]) -> AsyncIterator[TenantEvent]:
    """Until it is left, or the server cannot be reached for long. A cut connection goes on after the last event."""
    position = last_event_id
    failures = 0
    while True:
        cause: Exception = EOFError("the event stream ended")
        try:
            headers = {"accept": "text/event-stream"}
            if position is not None:
                headers["last-event-id"] = position
            response = await http.send("GET", "/v1/events", headers=headers, timeout_s=SILENCE_S, stream=True)
            try:
                decoder = SseDecoder()
                async for chunk in response.aiter_bytes():
                    for raw in decoder.feed(chunk):
                        failures = 0
                        position = raw.id or position
                        yield TenantEvent(raw.id, raw.event, json.loads(raw.data))
            finally:
                await response.aclose()
        except httpx.TransportError as caught:
            cause = caught
        failures += 1
        if failures > http.config.max_retries:
            raise connection_failed(cause, timed_out=isinstance(cause, httpx.TimeoutException)) from cause
        await sleep(backoff_s(failures - 1))
