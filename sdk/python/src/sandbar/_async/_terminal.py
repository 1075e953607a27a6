"""A terminal in a session, over a WebSocket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Optional, Union

import httpx

from .._errors import SandbarError, connection_failed, error_from_answer
from .._models import TerminalExit
from ._http import AsyncHttp

if TYPE_CHECKING:
    from httpx_ws import AsyncWebSocketSession


class AsyncTerminal:
    """Use it in a ``with`` block; iterating gives the bytes that the terminal prints, until it ends.

    Leaving the block leaves the shell to whoever comes back within ten minutes: ``terminal(process=process_id)``.
    """

    def __init__(self, http: AsyncHttp, path: str, params: Mapping[str, Any]) -> None:
        self._http = http
        self._path = path
        self._params = {name: value for name, value in params.items() if value is not None}
        self._stack = AsyncExitStack()
        self._socket: Optional[AsyncWebSocketSession] = None
        #: Known with the first output.
        self.process_id: Optional[str] = None
        #: How the process ended; None while it runs, and when only the connection did.
        self.exit: Optional[TerminalExit] = None

    async def __aenter__(self) -> AsyncTerminal:
        ws = _library()
        client, config = self._http._client, self._http.config
        headers = {"authorization": f"Bearer {config.api_key}"} if config.api_key else {}
        connecting = ws.aconnect_ws(
            config.url + self._path, client, headers=headers, params=self._params, subprotocols=["sandbar"]
        )
        try:
            self._socket = await self._stack.enter_async_context(connecting)
        except ws.WebSocketUpgradeError as refused:
            raise await self._refusal(refused.response) from refused
        except ws.HTTPXWSException as cause:
            raise connection_failed(cause, timed_out=False) from cause
        return self

    async def __aexit__(self, *_: object) -> None:
        self._socket = None
        await self._stack.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        ws = _library()
        while True:
            try:
                event = await self._open.receive()
            except (ws.WebSocketDisconnect, ws.WebSocketNetworkError):
                return
            data = getattr(event, "data", None)
            if isinstance(data, (bytes, bytearray)):
                yield bytes(data)
            elif isinstance(data, str):
                self._hear(json.loads(data))

    async def write(self, data: Union[str, bytes]) -> None:
        """Types into it."""
        await self._open.send_bytes(data.encode() if isinstance(data, str) else data)

    async def resize(self, cols: int, rows: int) -> None:
        await self._open.send_text(json.dumps({"type": "resize", "cols": cols, "rows": rows}))

    @property
    def _open(self) -> AsyncWebSocketSession:
        if self._socket is None:
            raise SandbarError("NOT_OPEN", "the terminal is not open", hint="Use it in a with block.")
        return self._socket

    def _hear(self, message: Mapping[str, Any]) -> None:
        if message.get("type") == "process":
            self.process_id = message.get("id")
        elif message.get("type") == "exit":
            self.exit = TerminalExit(message.get("exit_code"), message.get("signal"))

    async def _refusal(self, response: httpx.Response) -> SandbarError:
        """A refused WebSocket has lost its words; a plain request for the same may find them again."""
        try:
            await self._http.call("GET", self._path, params=self._params, retries=0)
        except SandbarError as error:
            if error.status == response.status_code:
                return error
        return error_from_answer(response.status_code, response.headers, b"")


def _library() -> Any:
    try:
        import httpx_ws
    except ImportError as cause:
        raise SandbarError(
            "MISSING_PACKAGE",
            "terminals need the package httpx-ws",
            hint="pip install 'sandbar-client[terminal]'",
        ) from cause
    return httpx_ws
