"""The events of one execution, without a gap, whatever happens to the connection."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Optional
from urllib.parse import quote

import httpx

from .._errors import ConnectionFailedError, connection_failed
from .._models import Event, Execution
from .._retry import backoff_s
from .._sse import SseDecoder
from ._runtime import bytes_of, interruptions, sleep

if TYPE_CHECKING:
    from ._session import AsyncSession

#: The server says something at least every 15 seconds.
SILENCE_S = 45.0


class AsyncEventStream:
    """Iterates :class:`Event`; the last one is ``finished``, and then ``execution`` is set.

    A cut connection is resumed after the last event. Ctrl-C and cancellation interrupt the execution; so does an
    exception inside ``async with``. Leaving the loop early does not: the code runs on.
    """

    def __init__(
        self,
        session: AsyncSession,
        *,
        body: Optional[Mapping[str, Any]] = None,
        idempotency_key: str = "",
        execution_id: Optional[str] = None,
        last_event_id: int = 0,
    ) -> None:
        self._session = session
        self._body = body
        self._key = idempotency_key
        self._decoder = SseDecoder()
        self._response: Optional[httpx.Response] = None
        self._chunks: Optional[AsyncIterator[bytes]] = None
        self._waiting: deque[Event] = deque()
        self._began = False
        self._closed = False
        self.execution_id = execution_id
        self.last_event_id = last_event_id
        #: The record, after ``finished``.
        self.execution: Optional[Execution] = None

    def __aiter__(self) -> AsyncEventStream:
        return self

    async def __anext__(self) -> Event:
        if self.execution is not None or self._closed:
            raise StopAsyncIteration
        try:
            event = await self._next()
        except interruptions():
            await self.interrupt()
            raise
        self.last_event_id = event.id
        if event.type == "finished":
            self.execution = event.execution
            await self._hang_up()
        return event

    async def result(self) -> Execution:
        """Reads on to the end and returns the record."""
        async for _ in self:
            pass
        if self.execution is None:
            raise ConnectionFailedError(
                "STREAM_CLOSED", "the stream was closed before it finished", execution_id=self.execution_id
            )
        return self.execution

    async def interrupt(self) -> None:
        """Ends the code as Ctrl-C would; what could not be said within a few seconds is left unsaid."""
        await self._hang_up()
        if self.execution_id is not None:
            await self._session._interrupt_quietly(self.execution_id)
        elif self._body is not None and self._began:
            await self._session._interrupt_key_quietly(self._body, self._key)

    async def aclose(self) -> None:
        """Stops reading. The code runs on."""
        self._closed = True
        await self._hang_up()

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        if kind is not None and self.execution is None and not self._closed:
            await self.interrupt()
        await self.aclose()

    async def _next(self) -> Event:
        failures = 0
        while True:
            try:
                if self._chunks is None:
                    await self._connect()
                assert self._chunks is not None
                while not self._waiting:
                    chunk = await self._chunks.__anext__()
                    self._waiting.extend(self._events(chunk))
                return self._waiting.popleft()
            except (httpx.TransportError, StopAsyncIteration) as caught:
                cause: Exception = caught
                await self._hang_up()
                failures += 1
                if failures > self._session._http.config.max_retries:
                    if isinstance(cause, StopAsyncIteration):
                        cause = EOFError("the stream ended before the execution did")
                    error = connection_failed(cause, timed_out=isinstance(cause, httpx.TimeoutException))
                    error.execution_id = self.execution_id
                    raise error from cause
            asked = (self._decoder.retry_ms or 0) / 1000 if failures > 1 else 0.0
            await sleep(max(backoff_s(failures - 1), asked))

    def _events(self, chunk: bytes) -> list[Event]:
        events = []
        for raw in self._decoder.feed(chunk):
            event = Event(int(raw.id), raw.event, json.loads(raw.data))
            # A server that starts over is no reason to see things twice.
            if event.id > self.last_event_id:
                events.append(event)
        return events

    async def _connect(self) -> None:
        http = self._session._http
        headers = {"accept": "text/event-stream"}
        if self.execution_id is None and self._began:
            assert self._body is not None
            self.execution_id = (await self._session._submit(self._body, self._key)).id
        self._decoder = SseDecoder()
        if self.execution_id is None:
            self._began = True
            self._response = await http.send(
                "POST",
                f"{self._session._path}/executions",
                json=self._body,
                headers={**headers, "idempotency-key": self._key},
                idempotent=True,
                timeout_s=SILENCE_S,
                stream=True,
            )
            name = self._response.headers.get("location", "").rsplit("/", 1)[-1]
            self.execution_id = name if name.startswith("exe_") else None
        else:
            if self.last_event_id:
                headers["last-event-id"] = str(self.last_event_id)
            self._response = await http.send(
                "GET",
                f"{self._session._path}/executions/{quote(self.execution_id, safe='')}/events",
                headers=headers,
                timeout_s=SILENCE_S,
                stream=True,
            )
        self._chunks = bytes_of(self._response).__aiter__()

    async def _hang_up(self) -> None:
        response, self._response, self._chunks = self._response, None, None
        if response is not None:
            await response.aclose()
