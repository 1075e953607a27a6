"""A session: code, shell, kernels, and what belongs to it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Optional
from urllib.parse import quote

import httpx

from .._content import Content
from .._errors import ConnectionFailedError, SandbarError
from .._models import (
    Completion,
    Context,
    Execution,
    Exported,
    Imported,
    ListeningPort,
    Preview,
    SessionEvent,
    SessionInfo,
    SessionMetrics,
    SessionNetwork,
    SessionToken,
    Snapshot,
    State,
)
from .._utf16 import units_of
from ._artifacts import AsyncSessionArtifacts
from ._datasets import AsyncDatasets
from ._events import server_events
from ._files import AsyncFiles
from ._http import AsyncHttp
from ._processes import AsyncProcesses
from ._runtime import interruptions, last_words, sleep
from ._stream import AsyncEventStream
from ._terminal import AsyncTerminal

#: How long one request waits for an execution before the client asks whether the server is still there.
WAIT_S = 60.0
#: A wait that ends sooner than this, retries included, never got anywhere.
PROGRESS_S = 5.0
#: A snapshot may have to wait for code, and be large.
SNAPSHOT_S = 3600.0
LAST_WORDS_S = 5.0
LAST_STOP_S = 30.0


class AsyncSession:
    """Made by ``AsyncSandbar.session``. As a context manager it stops at the end."""

    def __init__(self, http: AsyncHttp, info: SessionInfo) -> None:
        self._bind(http, info)

    def _bind(self, http: AsyncHttp, info: SessionInfo) -> None:
        self._http = http
        #: As the server last described it.
        self.info = info
        self._path = f"/v1/sessions/{info.id}"
        self.files = AsyncFiles(http, self._path)
        self.artifacts = AsyncSessionArtifacts(http, self._path)
        self.datasets = AsyncDatasets(http, self._path)
        self.contexts = AsyncContexts(http, self._path)
        self.processes = AsyncProcesses(http, self._path)

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def key(self) -> str:
        return self.info.key

    @property
    def runtime(self) -> str:
        return self.info.runtime

    @property
    def status(self) -> str:
        return self.info.status

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.runtime} {self.status}>"

    async def refresh(self) -> SessionInfo:
        self.info = SessionInfo.parse(await self._http.call("GET", self._path))
        return self.info

    async def stop(self, *, purge: bool = False) -> None:
        """Ends the session. What is left in /session/artifacts is kept first; a second stop changes nothing.

        ``purge`` also removes the folder that storage BIND leaves on the host.
        """
        # Artifacts are taken in before the answer comes.
        await self._http.call(
            "DELETE",
            self._path,
            params={"purge": "true"} if purge else None,
            timeout_s=max(120.0, self._http.config.timeout_s),
        )

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        with last_words(LAST_STOP_S):
            try:
                await self.stop()
            except SandbarError:
                # What went wrong inside the block matters more.
                if kind is None:
                    raise

    async def run(
        self,
        code: str,
        *,
        language: Optional[str] = None,
        context: Optional[str] = None,
        timeout_s: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        check: bool = False,
    ) -> Execution:
        """Runs code and waits for its end. An exception in the code is in ``error``; ``check=True`` raises it.

        The code starts at most once, whatever is retried. Ctrl-C and cancellation interrupt it.
        """
        body = _body(code, language, context, timeout_s, env, stdin)
        key = idempotency_key or uuid.uuid4().hex
        try:
            execution = await self._wait(body, key)
        except interruptions():
            await self._interrupt_key_quietly(body, key)
            raise
        return execution.raise_for_error() if check else execution

    def stream(
        self,
        code: str,
        *,
        language: Optional[str] = None,
        context: Optional[str] = None,
        timeout_s: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> AsyncEventStream:
        """The same, as an iterator of events while the code runs."""
        body = _body(code, language, context, timeout_s, env, stdin)
        return AsyncEventStream(self, body=body, idempotency_key=idempotency_key or uuid.uuid4().hex)

    async def start(
        self,
        code: str,
        *,
        language: Optional[str] = None,
        context: Optional[str] = None,
        timeout_s: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Execution:
        """Submits code and does not wait: the record is ``queued`` or ``running``."""
        body = _body(code, language, context, timeout_s, env, stdin)
        return await self._submit(body, idempotency_key or uuid.uuid4().hex)

    async def sh(
        self,
        command: str,
        *,
        timeout_s: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Optional[str] = None,
        check: bool = False,
    ) -> Execution:
        """Runs a shell command; the shell keeps its directory and variables. See ``exit_code``."""
        return await self.run(
            command, language="bash", timeout_s=timeout_s, env=env, stdin=stdin, check=check
        )

    async def execution(self, execution_id: str) -> Execution:
        return Execution.parse(
            await self._http.call("GET", f"{self._path}/executions/{quote(execution_id, safe='')}")
        )

    async def executions(self) -> AsyncIterator[Execution]:
        async for item in self._http.items(f"{self._path}/executions"):
            yield Execution.parse(item)

    def events(self, execution_id: str, *, last_event_id: int = 0) -> AsyncEventStream:
        """The events of an execution from the start, or after one that was seen."""
        return AsyncEventStream(self, execution_id=execution_id, last_event_id=last_event_id)

    async def session_events(self) -> AsyncIterator[SessionEvent]:
        """What happens to the session: its states, and progress while it is made. Ends with the connection."""
        async for raw in server_events(self._http, f"{self._path}/events", resume=False):
            yield SessionEvent(raw.id, raw.event, json.loads(raw.data))

    async def interrupt(self, execution_id: str) -> None:
        """Ends an execution as Ctrl-C would."""
        await self._http.call(
            "POST", f"{self._path}/executions/{quote(execution_id, safe='')}/interrupt", idempotent=True
        )

    async def network(self) -> SessionNetwork:
        """What it may reach by name, and what it has reached; of a session that was created with rules."""
        return SessionNetwork.parse(await self._http.call("GET", f"{self._path}/network"))

    async def set_network(self, rules: Mapping[str, Any]) -> SessionNetwork:
        """Other rules instead: ``{"allow": [...]}``. They hold when this returns; what they do not allow has ended."""
        return SessionNetwork.parse(await self._http.call("PUT", f"{self._path}/network", json=rules))

    async def metrics(self) -> SessionMetrics:
        """CPU, memory, processes and disk of the last minutes, the last of them now. Looking is not use."""
        return SessionMetrics.parse(await self._http.call("GET", f"{self._path}/metrics"))

    async def snapshot(
        self,
        name: Optional[str] = None,
        *,
        ttl_s: Optional[int] = None,
        on_busy: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Snapshot:
        """Keeps files and variables outside of the session, which goes on.

        ``contexts`` of the answer says of each variable what became of it. ``client.session(snapshot=...)`` makes a
        session that begins with it. When code runs, ``on_busy`` is ``"wait"``, ``"refuse"`` or ``"fork"``.
        """
        body = {"name": name, "ttl_s": ttl_s, "on_busy": on_busy}
        answer = await self._http.call(
            "POST",
            f"{self._path}/snapshots",
            json={key: value for key, value in body.items() if value is not None},
            headers={"idempotency-key": idempotency_key or uuid.uuid4().hex},
            idempotent=True,
            timeout_s=SNAPSHOT_S,
        )
        return Snapshot.parse(answer)

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """Newest first."""
        async for item in self._http.items(f"{self._path}/snapshots"):
            yield Snapshot.parse(item)

    async def fork(
        self,
        count: int = 1,
        *,
        on_busy: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        idle_ttl_s: Optional[int] = None,
        max_lifetime_s: Optional[int] = None,
    ) -> list[AsyncSession]:
        """New sessions that begin with this one's files and variables: all of them, or none."""
        body = {
            "count": count,
            "on_busy": on_busy,
            "labels": labels,
            "idle_ttl_s": idle_ttl_s,
            "max_lifetime_s": max_lifetime_s,
        }
        answer = await self._http.call(
            "POST",
            f"{self._path}/fork",
            json={key: value for key, value in body.items() if value is not None},
            timeout_s=SNAPSHOT_S,
        )
        return [AsyncSession(self._http, SessionInfo.parse(item)) for item in answer["data"]]

    async def create_token(
        self, verbs: Iterable[str], *, ttl_s: Optional[int] = None, label: Optional[str] = None
    ) -> SessionToken:
        """A token for a browser, an end user or an agent: with its ``token`` as ``api_key`` a client has this session
        and these verbs (run, files, terminal, ports, read), and nothing else of the tenant. See ``Sandbar.attach``.

        ``ttl_s`` is a minute to a day; an hour when it is not given.
        """
        body = {"verbs": list(verbs), "ttl_s": ttl_s, "label": label}
        answer = await self._http.call(
            "POST",
            f"{self._path}/tokens",
            json={key: value for key, value in body.items() if value is not None},
        )
        return SessionToken.parse(answer)

    async def tokens(self) -> AsyncIterator[SessionToken]:
        """Those that have not ended, newest first."""
        async for item in self._http.items(f"{self._path}/tokens"):
            yield SessionToken.parse(item)

    async def remove_token(self, token_id: str) -> None:
        """Takes a token back: within 5 seconds it is worth nothing, and what it has open has ended."""
        await self._http.call("DELETE", f"{self._path}/tokens/{quote(token_id, safe='')}")

    async def ports(self) -> list[ListeningPort]:
        """Where something listens inside the session, with the process that does."""
        answer = await self._http.call("GET", f"{self._path}/ports")
        return [ListeningPort.parse(item) for item in (answer or {}).get("data", [])]

    async def preview(self, port: int) -> Preview:
        """A link that shows a server in the session to whoever has it, for an hour."""
        return Preview.parse(
            await self._http.call("POST", f"{self._path}/ports/{int(port)}/preview", idempotent=True)
        )

    def port_url(self, port: int, path: str = "/") -> str:
        """Where a server that listens inside the session answers; requests need the API key."""
        return self._http.config.url + self._port(port, path)

    async def port_request(
        self,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        params: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        content: Any = None,
    ) -> httpx.Response:
        """A request to a server inside the session; its answer comes back as it is, whatever its status."""
        body = None if content is None else Content(content)
        asked = {"accept": "*/*", **(headers or {})}
        return await self._http.send(
            method,
            self._port(port, path),
            params=params,
            headers=asked,
            content=body,
            retries=0,
            any_status=True,
        )

    def terminal(
        self,
        *,
        cols: Optional[int] = None,
        rows: Optional[int] = None,
        process: Optional[str] = None,
        after: Optional[int] = None,
    ) -> AsyncTerminal:
        """A shell, or the terminal of a process that has one; ``after`` is the last event id that was seen of it.
        Needs the extra ``terminal``."""
        params = {"cols": cols, "rows": rows, "process": process, "after": after}
        return AsyncTerminal(self._http, f"{self._path}/terminal", params)

    async def state(self, *, context: Optional[str] = None) -> State:
        """Variables, imports and working directory of a context."""
        return State.parse(await self._http.call("GET", f"{self._path}/state", params={"context": context}))

    async def complete(
        self, code: str, *, cursor: Optional[int] = None, context: Optional[str] = None
    ) -> Completion:
        """What could stand at the cursor (the end of the code), as the context's kernel knows it. Positions
        are Python's: a match stands for ``code[start:end]``."""
        body: dict[str, Any] = {
            "code": code,
            "cursor": units_of(code, len(code) if cursor is None else cursor),
        }
        if context is not None:
            body["context"] = context
        answer = await self._http.call("POST", f"{self._path}/complete", json=body, idempotent=True)
        return Completion.of(code, answer)

    async def import_files(self, files: Iterable[Mapping[str, Any]]) -> list[Imported]:
        """Each file is ``{destination, content, encoding?}``, ``{destination, session_id, path}``,
        ``{destination, artifact_id}`` or ``{destination, source}``; one answer per file, in order."""
        answer = await self._http.call(
            "POST", f"{self._path}/import", json={"files": list(files)}, idempotent=True, timeout_s=300.0
        )
        return [Imported.parse(item) for item in answer["data"]]

    async def export_files(self, files: Iterable[Any]) -> list[Exported]:
        """Makes artifacts of files; each is a path or ``{source, name?}``; one answer per file, in order."""
        wanted = [{"source": file} if isinstance(file, str) else dict(file) for file in files]
        answer = await self._http.call(
            "POST", f"{self._path}/export", json={"files": wanted}, timeout_s=300.0
        )
        return [Exported.parse(item) for item in answer["data"]]

    def _port(self, port: int, path: str) -> str:
        return f"{self._path}/ports/{int(port)}/{path.lstrip('/')}"

    async def _wait(self, body: Mapping[str, Any], key: str) -> Execution:
        execution_id = None
        while True:
            began = time.monotonic()
            try:
                answer = await self._http.call(
                    "POST",
                    f"{self._path}/executions",
                    json=body,
                    headers={"idempotency-key": key},
                    idempotent=True,
                    timeout_s=WAIT_S,
                    retry_timeouts=False,
                )
                execution = Execution.parse(answer)
            except ConnectionFailedError as error:
                error.execution_id = execution_id
                if error.code != "CLIENT_TIMEOUT" and time.monotonic() - began < PROGRESS_S:
                    raise
                # The wait was long, or was cut again and again. A server that still answers is waited for again.
                execution = await self._submit(body, key)
            execution_id = execution.id
            if execution.done:
                return execution
            await sleep(0.1)

    async def _submit(self, body: Mapping[str, Any], key: str, **options: Any) -> Execution:
        """Starts the execution of this key, or finds it when it was started before."""
        headers = {"idempotency-key": key, "prefer": "respond-async"}
        answer = await self._http.call(
            "POST", f"{self._path}/executions", json=body, headers=headers, idempotent=True, **options
        )
        return Execution.parse(answer)

    async def _interrupt_key_quietly(self, body: Mapping[str, Any], key: str) -> None:
        # The waiting answer would have named the execution; only its key is known.
        with last_words(LAST_WORDS_S):
            try:
                execution = await self._submit(body, key, timeout_s=LAST_WORDS_S, retries=0)
            except SandbarError:
                return
            if not execution.done:
                await self._interrupt_quietly(execution.id)

    async def _interrupt_quietly(self, execution_id: str) -> None:
        with last_words(LAST_WORDS_S):
            try:
                await self._http.call(
                    "POST",
                    f"{self._path}/executions/{quote(execution_id, safe='')}/interrupt",
                    timeout_s=LAST_WORDS_S,
                    retries=0,
                )
            except SandbarError:
                return


class AsyncContexts:
    """Named kernels of one session; ``run(..., context=name)`` uses one."""

    def __init__(self, http: AsyncHttp, path: str) -> None:
        self._http = http
        self._path = f"{path}/contexts"

    async def list(self) -> list[Context]:
        return [Context.parse(item) async for item in self._http.items(self._path)]

    async def create(self, name: str, language: str = "python") -> Context:
        """Makes a kernel; the same name and language again is the same kernel."""
        body = {"name": name, "language": language}
        return Context.parse(
            await self._http.call("POST", self._path, json=body, idempotent=True, timeout_s=120.0)
        )

    async def delete(self, context_id: str) -> None:
        await self._http.call("DELETE", f"{self._path}/{quote(context_id, safe='')}")

    async def restart(self, context_id: str) -> Optional[Context]:
        """A fresh kernel under the same name: its variables are gone, files stay."""
        answer = await self._http.call(
            "POST", f"{self._path}/{quote(context_id, safe='')}/restart", timeout_s=120.0
        )
        return Context.parse(answer) if answer else None


def _body(
    code: str,
    language: Optional[str],
    context: Optional[str],
    timeout_s: Optional[float],
    env: Optional[Mapping[str, str]],
    stdin: Optional[str],
) -> dict[str, Any]:
    body = {
        "code": code,
        "language": language,
        "context": context,
        "timeout_s": timeout_s,
        "env": None if env is None else dict(env),
        "stdin": stdin,
    }
    return {name: value for name, value in body.items() if value is not None}
