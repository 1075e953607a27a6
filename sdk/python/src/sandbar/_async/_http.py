"""One request, sent until it is answered or there is no point in sending it again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Optional

import httpx

from .._config import Config
from .._content import Content
from .._errors import SandbarError, connection_failed, error_from_answer
from .._retry import retry_delay_s
from .._version import __version__
from ._runtime import body_of, sleep

JSON = "application/json"
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
# The request was not sent at all.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class AsyncHttp:
    def __init__(self, config: Config, transport: Optional[httpx.AsyncBaseTransport] = None) -> None:
        self.config = config
        self._client = httpx.AsyncClient(
            transport=transport,
            headers={"user-agent": f"sandbar-python/{__version__}"},
            # Sessions wait side by side; a pool's limit would be a deadlock of the caller's making.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=10),
        )

    async def send(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: Optional[Content] = None,
        params: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        idempotent: Optional[bool] = None,
        timeout_s: Optional[float] = None,
        retry_timeouts: bool = True,
        retries: Optional[int] = None,
        stream: bool = False,
        any_status: bool = False,
    ) -> httpx.Response:
        """The answer, read unless ``stream``; raises SandbarError for anything that is not a success, unless an
        answer of ``any_status`` is wanted."""
        if idempotent is None:
            idempotent = method in _IDEMPOTENT
        limit = self.config.max_retries if retries is None else retries
        attempt = 0
        while True:
            try:
                return await self._once(
                    method, path, json, content, params, headers, timeout_s, stream, any_status
                )
            except httpx.TransportError as cause:
                timed_out = isinstance(cause, httpx.TimeoutException)
                error: SandbarError = connection_failed(cause, timed_out=timed_out)
                error.__cause__ = cause
                sent = not isinstance(cause, _UNSENT)
                if timed_out and sent and not retry_timeouts:
                    raise error from cause
            except SandbarError as problem:
                error = problem
                sent = True
            if content is not None and not content.replayable:
                raise error
            delay = retry_delay_s(error, attempt, limit, idempotent=idempotent, sent=sent)
            if delay is None:
                raise error
            attempt += 1
            await sleep(delay)

    async def _once(
        self,
        method: str,
        path: str,
        json: Any,
        content: Optional[Content],
        params: Optional[Mapping[str, Any]],
        headers: Optional[Mapping[str, str]],
        timeout_s: Optional[float],
        stream: bool,
        any_status: bool,
    ) -> httpx.Response:
        config = self.config
        sent_headers = {"accept": JSON, **(headers or {})}
        absolute = path.startswith(("http://", "https://"))
        # A link carries its own right, and may lead to another server.
        if config.api_key and not absolute:
            sent_headers["authorization"] = f"Bearer {config.api_key}"
        arguments: dict[str, Any] = {}
        if json is not None:
            arguments["json"] = json
        elif content is not None:
            sent_headers["content-type"] = sent_headers.get("content-type", "application/octet-stream")
            if content.length is not None:
                sent_headers["content-length"] = str(content.length)
            arguments["content"] = content.source if isinstance(content.source, bytes) else body_of(content)
        request = self._client.build_request(
            method,
            path if absolute else config.url + path,
            params={name: _param(value) for name, value in (params or {}).items() if value is not None}
            or None,
            headers=sent_headers,
            timeout=httpx.Timeout(config.timeout_s, read=timeout_s or config.timeout_s),
            **arguments,
        )
        response = await self._client.send(request, stream=True, follow_redirects=absolute)
        try:
            if not (response.is_success or any_status):
                body = await response.aread()
                raise error_from_answer(response.status_code, response.headers, body)
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """The answer's JSON, or None when it has no body."""
        response = await self.send(method, path, **options)
        if response.status_code == 204 or not response.content:
            return None
        try:
            return response.json()
        except ValueError:
            raise error_from_answer(response.status_code, response.headers, response.content) from None

    async def items(
        self, path: str, params: Optional[Mapping[str, Any]] = None
    ) -> AsyncIterator[Mapping[str, Any]]:
        """Every item of a list, page after page."""
        query = dict(params or {})
        while True:
            page = await self.call("GET", path, params=query)
            for item in page["data"]:
                yield item
            cursor = page.get("next_cursor")
            if not cursor:
                return
            query["cursor"] = cursor

    async def aclose(self) -> None:
        await self._client.aclose()


def _param(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
