"""Long-running commands of a session, with and without a terminal."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Optional, Union
from urllib.parse import quote

from .._content import Content
from .._models import ProcessEvent, ProcessInfo
from ._events import server_events
from ._http import AsyncHttp


class AsyncProcesses:
    def __init__(self, http: AsyncHttp, path: str) -> None:
        self._http = http
        self._path = f"{path}/processes"

    async def list(self) -> list[AsyncProcess]:
        return [
            AsyncProcess(self._http, self._path, ProcessInfo.parse(item))
            async for item in self._http.items(self._path)
        ]

    async def start(
        self,
        command: Union[str, Sequence[str]],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        pty: Union[Mapping[str, int], tuple[int, int], None] = None,
        idempotency_key: Optional[str] = None,
    ) -> AsyncProcess:
        """Starts a shell command, or an argv that no shell sees. It runs until it ends, is killed, or the session
        ends. ``pty`` is ``(cols, rows)`` of a terminal that it gets."""
        body: dict[str, Any] = {"command": command} if isinstance(command, str) else {"argv": [*command]}
        size = {"cols": pty[0], "rows": pty[1]} if isinstance(pty, tuple) else pty
        for name, value in (("cwd", cwd), ("env", env), ("pty", size)):
            if value is not None:
                body[name] = value
        headers = {"idempotency-key": idempotency_key or uuid.uuid4().hex}
        answer = await self._http.call("POST", self._path, json=body, headers=headers, idempotent=True)
        return AsyncProcess(self._http, self._path, ProcessInfo.parse(answer))

    async def get(self, process_id: str) -> AsyncProcess:
        answer = await self._http.call("GET", f"{self._path}/{quote(process_id, safe='')}")
        return AsyncProcess(self._http, self._path, ProcessInfo.parse(answer))


class AsyncProcess:
    """One command. ``info`` is the record as last seen; ``refresh`` asks again."""

    def __init__(self, http: AsyncHttp, path: str, info: ProcessInfo) -> None:
        self._http = http
        self._path = f"{path}/{info.id}"
        self.info = info

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def running(self) -> bool:
        """As last seen."""
        return self.info.status == "running"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.info.status} {self.info.command!r}>"

    async def refresh(self) -> ProcessInfo:
        self.info = ProcessInfo.parse(await self._http.call("GET", self._path))
        return self.info

    async def events(self, *, last_event_id: Optional[str] = None) -> AsyncIterator[ProcessEvent]:
        """Output from the oldest kept, or after ``last_event_id``, to the one ``exit``; goes on after a cut."""
        async for raw in server_events(self._http, f"{self._path}/events", last_event_id=last_event_id):
            yield ProcessEvent(raw.id, raw.event, json.loads(raw.data))
            if raw.event == "exit":
                return

    async def wait(self) -> ProcessInfo:
        """Waits for the end."""
        if self.running:
            async for _ in self.events(last_event_id=str(self.info.last_event_id)):
                pass
        return await self.refresh()

    async def write(self, data: Union[str, bytes], *, eof: bool = False) -> None:
        """Writes to its standard input; ``eof`` closes it afterwards."""
        content = Content(data.encode() if isinstance(data, str) else data)
        params = {"eof": True if eof else None}
        await self._http.call("POST", f"{self._path}/stdin", params=params, content=content)

    async def signal(self, name: str) -> None:
        """Sends a signal, ``SIGTERM`` say, to the process's group."""
        await self._http.call("POST", f"{self._path}/signal", json={"signal": name})

    async def resize(self, cols: int, rows: int) -> None:
        body = {"cols": cols, "rows": rows}
        await self._http.call("POST", f"{self._path}/resize", json=body, idempotent=True)

    async def kill(self) -> None:
        """Ends it with everything that it started, and forgets its output."""
        await self._http.call("DELETE", self._path)
