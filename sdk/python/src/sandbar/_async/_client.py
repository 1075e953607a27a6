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
from .._errors import NotFoundError, SandbarError
from .._models import (
    AuditEntry,
    ConsoleLink,
    EffectivePolicy,
    Execution,
    Me,
    RunOnceResult,
    Sample,
    SessionInfo,
    Snapshot,
    TenantEvent,
    Usage,
    UsageSeries,
)
from ._artifacts import AsyncArtifacts
from ._events import tenant_events
from ._http import AsyncHttp
from ._operator import AsyncDatasetSources, AsyncHosts, AsyncKeys, AsyncVolumes
from ._policies import AsyncPolicies
from ._runtime import last_words
from ._secrets import AsyncSecrets
from ._session import LAST_STOP_S, AsyncSession
from ._settings import AsyncAgentSettings
from ._snapshots import AsyncSnapshots

#: A cold start may have to install dependencies.
START_S = 600.0
ENDED = ("stopped", "lost", "failed")


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
        #: The agent's model, keys and manners.
        self.settings = AsyncAgentSettings(self._http)
        #: What tenants may do, for operators.
        self.policies = AsyncPolicies(self._http)
        #: What sessions' network may refer to by name.
        self.secrets = AsyncSecrets(self._http)
        self.volumes = AsyncVolumes(self._http)
        #: What sessions were, for others to begin with.
        self.snapshots = AsyncSnapshots(self._http)
        #: For operators and admins.
        self.hosts = AsyncHosts(self._http)
        self.keys = AsyncKeys(self._http)
        self.dataset_sources = AsyncDatasetSources(self._http)

    @classmethod
    def from_env(cls, env_file: Union[str, Path, None] = None, **options: Any) -> AsyncSandbar:
        """``SANDBAR_URL`` and ``SANDBAR_API_KEY``, or the key file of the local server under ``SANDBAR_HOME``."""
        found = Config.from_env(env_file)
        return cls(found.url, found.api_key, **options)

    @property
    def url(self) -> str:
        return self.config.url

    async def session(
        self,
        key: Optional[str] = None,
        *,
        snapshot: Union[Snapshot, str, None] = None,
        runtime: Optional[str] = None,
        engine: Optional[str] = None,
        image: Optional[str] = None,
        storage: Optional[str] = None,
        datasets: Union[str, Mapping[str, str], None] = None,
        limits: Optional[Mapping[str, float]] = None,
        network: Union[str, Mapping[str, Any], None] = None,
        dependencies: Union[Mapping[str, str], Iterable[str], None] = None,
        env: Optional[Mapping[str, str]] = None,
        idle_ttl_s: Optional[int] = None,
        max_lifetime_s: Optional[int] = None,
        labels: Optional[Mapping[str, str]] = None,
        volumes: Optional[Iterable[Mapping[str, str]]] = None,
    ) -> AsyncSession:
        """The session of this key, made if there is none; without a key, a new one. Waits until it is ready.

        With ``snapshot`` it begins with the files and variables of that, and with its specification where nothing
        else is said; ``session.info.restored`` says what became of each variable.

        ``engine`` is ``"container"``, ``"wasm"`` or ``"any"`` (containers first), the server's default.
        ``network`` is ``"none"``, ``"egress"`` or rules: ``{"allow": ["files.example.org", "*.example.com:443"]}``.
        """
        body = {
            # A key of our own makes the request safe to repeat.
            "key": key if key is not None else f"py-{uuid.uuid4().hex}",
            "snapshot": snapshot.id if isinstance(snapshot, Snapshot) else snapshot,
            "runtime": runtime,
            "engine": engine,
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

    async def run_once(
        self,
        code: str,
        *,
        snapshot: Union[Snapshot, str, None] = None,
        snapshot_bytes: Optional[str] = None,
        keep: Optional[str] = None,
        ttl_s: Optional[int] = None,
        language: Optional[str] = None,
        context: Optional[str] = None,
        stdin: Optional[str] = None,
        timeout_s: Optional[float] = None,
        runtime: Optional[str] = None,
        engine: Optional[str] = None,
        image: Optional[str] = None,
        limits: Optional[Mapping[str, float]] = None,
        network: Optional[str] = None,
        dependencies: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None,
    ) -> RunOnceResult:
        """Code in a session of its own that ends with it.

        It begins with a snapshot if one is given, by id or as the ``snapshot_bytes`` of an earlier answer. ``keep``
        asks for a new one: ``"snapshot"``, or ``"bytes"``, with which the caller holds all there is between two calls.
        When that fails the answer has ``keep_error`` beside the execution. A request that fails is not sent again.
        """
        body = {
            "code": code,
            "snapshot": snapshot.id if isinstance(snapshot, Snapshot) else snapshot,
            "snapshot_bytes": snapshot_bytes,
            "keep": keep,
            "ttl_s": ttl_s,
            "language": language,
            "context": context,
            "stdin": stdin,
            "timeout_s": timeout_s,
            "runtime": runtime,
            "engine": engine,
            "image": image,
            "limits": limits,
            "network": network,
            "dependencies": dependencies,
            "env": env,
        }
        body = {name: value for name, value in body.items() if value is not None}
        # Sent again, the code would run again: the server cannot know one such request from another.
        answer = await self._http.call(
            "POST", "/v1/run", json=body, timeout_s=START_S + (timeout_s or 0), retries=0
        )
        return RunOnceResult.parse(answer)

    async def get_session(self, session_id: str) -> AsyncSession:
        """A session that exists, by its id."""
        answer = await self._http.call("GET", f"/v1/sessions/{quote(session_id, safe='')}")
        return AsyncSession(self._http, SessionInfo.parse(answer))

    @property
    def has_token(self) -> bool:
        """Whether it was made with a session's token instead of an API key."""
        return (self.config.api_key or "").startswith("sbt_")

    async def attach(self) -> AsyncSession:
        """The session of the token that this client was made with instead of an API key."""
        token = (await self.me()).token
        if token is None:
            raise SandbarError(
                "NOT_A_TOKEN",
                "an API key is for no session of its own",
                hint="Give the client a token of session.create_token(), or name the session: get_session(id).",
            )
        return await self.get_session(token["session_id"])

    async def find_session(self, key: str) -> Optional[AsyncSession]:
        """The session of this key that has not ended, or None."""
        async for info in self.sessions(key=key):
            if info.status not in ENDED:
                return AsyncSession(self._http, info)
        return None

    async def stop_session(
        self, session_id: Optional[str] = None, *, key: Optional[str] = None, purge: bool = False
    ) -> None:
        """Ends a session by its id, or by its key; one that is gone already is fine. ``purge``: see ``stop``."""
        if (session_id is None) == (key is None):
            raise TypeError("give either a session's id or its key")
        try:
            if session_id is not None:
                path = f"/v1/sessions/{quote(session_id, safe='')}"
                await self._http.call("DELETE", path, params={"purge": "true"} if purge else None)
            elif key is not None and (found := await self.find_session(key)) is not None:
                await found.stop(purge=purge)
        except NotFoundError:
            return

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

    async def policy(self) -> EffectivePolicy:
        """What the caller's tenant may do, and how much it may have."""
        return EffectivePolicy.parse(await self._http.call("GET", "/v1/policy"))

    async def console_link(self) -> ConsoleLink:
        """A link that signs a browser in to the console, once, within 10 minutes."""
        return ConsoleLink.parse(await self._http.call("POST", "/v1/console/codes"))

    def events(self, *, last_event_id: Optional[str] = None) -> AsyncIterator[TenantEvent]:
        """What happens in the tenant from now on, or after an event. ``hello`` comes first; events come at least once."""
        return tenant_events(self._http, last_event_id)

    async def audit(
        self,
        *,
        action: Optional[str] = None,
        target: Optional[str] = None,
        by: Optional[str] = None,
        address: Optional[str] = None,
        result: Optional[str] = None,
        since: Union[str, datetime, None] = None,
        until: Union[str, datetime, None] = None,
        tenant: Optional[str] = None,
    ) -> AsyncIterator[AuditEntry]:
        """Who did what, newest first: of the tenant, and for operators of all."""
        params = {
            "action": action,
            "target": target,
            "by": by,
            "address": address,
            "result": result,
            "since": _time(since),
            "until": _time(until),
            "tenant": tenant,
        }
        async for item in self._http.items("/v1/audit", params):
            yield AuditEntry.parse(item)

    async def usage(self, tenant: Optional[str] = None) -> Usage:
        """What the tenant has used; for operators any tenant's."""
        return Usage.parse(await self._http.call("GET", "/v1/usage", params={"tenant": tenant}))

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

    async def health(self) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self._http.call("GET", "/healthz")
        return answer

    async def metrics(self) -> str:
        """For Prometheus; operators only."""
        return (await self._http.send("GET", "/metrics", headers={"accept": "*/*"})).text

    async def request(self, method: str, path: str, **options: Any) -> Any:
        """Any other route, with the same retries and errors: ``request("GET", "/openapi.json")``."""
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
        if name in ("_http", "info", "_path", "files", "artifacts", "datasets", "contexts", "processes"):
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
