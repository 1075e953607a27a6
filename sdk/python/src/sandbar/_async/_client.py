"""The client, and the sandbox that lives as long as its ``with`` block."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Optional, Union
from urllib.parse import quote

import httpx

from .._config import Config, normal_url
from .._errors import SandbarError
from .._models import ConsoleLink, Execution, Me, Sample, SessionInfo, TenantEvent, UsageSeries
from ._artifacts import AsyncArtifacts
from ._events import tenant_events
from ._http import AsyncHttp
from ._runtime import last_words
from ._session import LAST_STOP_S, AsyncSession

#: A cold start may have to install dependencies.
START_S = 600.0


class AsyncSandbar:
    """A connection to one Sandbar. ``url`` and ``api_key`` come from the environment when they are not given."""

    def __init__(
        self,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        timeout_s: float = 30.0,
        max_retries: int = 4,
        transport: Optional[httpx.AsyncBaseTransport] = None,
    ) -> None:
        found = Config.from_env(url=url, api_key=api_key)
        self.config = Config(normal_url(found.url), found.api_key, timeout_s, max_retries)
        self._http = AsyncHttp(self.config, transport)
        #: The artifacts of the tenant.
        self.artifacts = AsyncArtifacts(self._http)

    @classmethod
    def from_env(cls, env_file: Union[str, Path, None] = None, **options: Any) -> AsyncSandbar:
        """``SANDBAR_URL`` and ``SANDBAR_API_KEY``, or the key file of the local server under ``SANDBAR_HOME``."""
        found = Config.from_env(env_file)
        return cls(found.url, found.api_key, **options)

    async def session(
        self,
        key: Optional[str] = None,
        *,
        runtime: Optional[str] = None,
        image: Optional[str] = None,
        storage: Optional[str] = None,
        datasets: Union[str, Mapping[str, str], None] = None,
        limits: Optional[Mapping[str, float]] = None,
        network: Optional[str] = None,
        dependencies: Union[Mapping[str, str], Iterable[str], None] = None,
        env: Optional[Mapping[str, str]] = None,
        idle_ttl_s: Optional[int] = None,
        max_lifetime_s: Optional[int] = None,
        labels: Optional[Mapping[str, str]] = None,
        volumes: Optional[Iterable[Mapping[str, str]]] = None,
    ) -> AsyncSession:
        """The session of this key, made if there is none; without a key, a new one. Waits until it is ready."""
        body = {
            # A key of our own makes the request safe to repeat.
            "key": key if key is not None else f"py-{uuid.uuid4().hex}",
            "runtime": runtime,
            "image": image,
            "storage": storage,
            "datasets": {"access": datasets} if isinstance(datasets, str) else datasets,
            "limits": limits,
            "network": network,
            "dependencies": dependencies
            if dependencies is None or isinstance(dependencies, Mapping)
            else {name: "" for name in dependencies},
            "env": env,
            "idle_ttl_s": idle_ttl_s,
            "max_lifetime_s": max_lifetime_s,
            "labels": labels,
            "volumes": None if volumes is None else list(volumes),
        }
        body = {name: value for name, value in body.items() if value is not None}
        answer = await self._http.call("POST", "/v1/sessions", json=body, idempotent=True, timeout_s=START_S)
        return AsyncSession(self._http, SessionInfo.parse(answer))

    async def get_session(self, session_id: str) -> AsyncSession:
        """A session that exists, by its id."""
        answer = await self._http.call("GET", f"/v1/sessions/{quote(session_id, safe='')}")
        return AsyncSession(self._http, SessionInfo.parse(answer))

    async def sessions(
        self, *, key: Optional[str] = None, status: Optional[str] = None, label: Optional[str] = None
    ) -> AsyncIterator[SessionInfo]:
        async for item in self._http.items("/v1/sessions", {"key": key, "status": status, "label": label}):
            yield SessionInfo.parse(item)

    async def session_metrics(self) -> dict[str, list[Sample]]:
        """The newest samples of every running session, by its id. Looking is not use of the sessions."""
        answer = await self._http.call("GET", "/v1/metrics/sessions")
        return {item["session"]: [Sample.parse(one) for one in item["samples"]] for item in answer["data"]}

    async def me(self) -> Me:
        """Who calls: tenant, key, scopes."""
        return Me.parse(await self._http.call("GET", "/v1/me"))

    async def console_link(self) -> ConsoleLink:
        """A link that signs a browser in to the console, once, within 10 minutes."""
        return ConsoleLink.parse(await self._http.call("POST", "/v1/console/codes"))

    def events(self, *, last_event_id: Optional[str] = None) -> AsyncIterator[TenantEvent]:
        """What happens in the tenant from now on, or after an event. ``hello`` comes first; events come at least once."""
        return tenant_events(self._http, last_event_id)

    async def usage_series(
        self,
        *,
        step: Optional[int] = None,
        since: Union[str, datetime, None] = None,
        until: Union[str, datetime, None] = None,
        tenant: Optional[str] = None,
    ) -> UsageSeries:
        """Executions, errors, latencies, artifacts and sessions over time, in steps of 60, 3600 or 86400 seconds."""
        params = {"step": step, "from": _time(since), "to": _time(until), "tenant": tenant}
        return UsageSeries.parse(await self._http.call("GET", "/v1/usage/series", params=params))

    async def request(self, method: str, path: str, **options: Any) -> Any:
        """Any other route, with the same retries and errors: ``request("GET", "/v1/usage")``."""
        return await self._http.call(method, path, **options)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncSandbar:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _time(time: Union[str, datetime, None]) -> Optional[str]:
    # A time without a zone is the machine's own.
    return time.astimezone().isoformat() if isinstance(time, datetime) else time


class AsyncSandbox(AsyncSession):
    """One session for one ``with`` block: made on entry, stopped on exit.

    ``execute`` runs a shell command, or code when the sandbox was given a ``runtime``. Everything a session can do
    is there too.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        server_url: Optional[str] = None,
        key: Optional[str] = None,
        runtime: Optional[str] = None,
        client: Optional[AsyncSandbar] = None,
        **spec: Any,
    ) -> None:
        self._owned = client is None
        self._client = client or AsyncSandbar(url or server_url, api_key)
        self._spec = {"key": key, "runtime": runtime, **spec}
        self._open = False

    def __getattr__(self, name: str) -> Any:
        if name in ("_http", "info", "_path", "files", "artifacts", "datasets", "contexts"):
            raise SandbarError(
                "NOT_OPEN", "the sandbox is not open", hint="Use it in a with block, or call open()."
            )
        raise AttributeError(name)

    def __repr__(self) -> str:
        return super().__repr__() if self._open else f"<{type(self).__name__} not open>"

    async def open(self) -> AsyncSandbox:
        session = await self._client.session(**self._spec)
        self._bind(session._http, session.info)
        self._open = True
        return self

    async def aclose(self) -> None:
        """Stops the session; a second time changes nothing."""
        try:
            if self._open:
                self._open = False
                await self.stop()
        finally:
            if self._owned:
                await self._client.aclose()

    async def __aenter__(self) -> AsyncSandbox:
        try:
            return await self.open()
        except BaseException:
            await self.aclose()
            raise

    async def __aexit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        with last_words(LAST_STOP_S):
            try:
                await self.aclose()
            except SandbarError:
                if kind is None:
                    raise

    async def execute(
        self,
        command: str,
        *,
        language: Optional[str] = None,
        timeout_s: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Optional[str] = None,
        check: bool = False,
    ) -> Execution:
        chosen = language or self._spec["runtime"] or "bash"
        return await self.run(
            command, language=chosen, timeout_s=timeout_s, env=env, stdin=stdin, check=check
        )
