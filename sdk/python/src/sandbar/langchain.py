"""LangChain and LangGraph tools on a Sandbar (``pip install sandbar[langchain]``).

Each factory returns a ``StructuredTool`` that works with ``invoke`` and ``ainvoke`` and answers text for the model
and JSON descriptors as the message's ``artifact``. The session belongs to ``configurable.thread_id`` unless
``session_key_fn`` says otherwise; give all tools of one agent the same ``session`` specification.
"""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import Mapping
from typing import Any, Callable, Optional, Union

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, Field

from ._async._client import AsyncSandbar
from ._async._session import AsyncSession
from ._errors import SandbarError
from ._models import Event, Execution, Model
from ._sync._client import Sandbar
from ._sync._session import Session

__all__ = [
    "make_code_sandbox_tool",
    "make_export_datasets_tool",
    "make_export_files_tool",
    "make_import_files_tool",
    "make_list_datasets_tool",
    "make_sandbox_tools",
    "make_select_dataset_tool",
    "make_terminal_tool",
]

Client = Union[Sandbar, AsyncSandbar]
SessionKeyFn = Callable[..., str]
Answer = tuple[Any, Any]
#: A model's image limits are in the megabytes; what is larger is named, not shown.
IMAGE_LIMIT_BYTES = 256 * 1024
OUTPUT_LIMIT_CHARS = 20_000
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class _Sandboxes:
    """Finds the session of a call. Sync calls use a blocking client, async ones a client of their event loop."""

    def __init__(
        self,
        client: Optional[Client],
        session_key_fn: Optional[SessionKeyFn],
        spec: Optional[Mapping[str, Any]],
    ) -> None:
        self._client = client
        self._key_fn = session_key_fn
        self._takes_config = session_key_fn is not None and _takes_an_argument(session_key_fn)
        self._spec = dict(spec or {})
        self._blocking: Optional[Sandbar] = client if isinstance(client, Sandbar) else None
        # A connection pool cannot be used from two event loops.
        self._by_loop: weakref.WeakKeyDictionary[Any, AsyncSandbar] = weakref.WeakKeyDictionary()

    def key(self, config: Optional[RunnableConfig]) -> str:
        if self._key_fn is not None:
            return str(self._key_fn(config) if self._takes_config else self._key_fn())
        thread_id = ((config or {}).get("configurable") or {}).get("thread_id")
        if thread_id is None or str(thread_id) == "":
            raise ValueError(
                "no session key: call the graph with {'configurable': {'thread_id': ...}} or give session_key_fn"
            )
        return str(thread_id)

    def session(self, config: Optional[RunnableConfig]) -> Session:
        key = self.key(config)
        if self._blocking is None:
            self._blocking = Sandbar(**self._options())
        return self._blocking.session(key, **self._spec)

    async def asession(self, config: Optional[RunnableConfig]) -> AsyncSession:
        key = self.key(config)
        if isinstance(self._client, AsyncSandbar):
            return await self._client.session(key, **self._spec)
        loop = asyncio.get_running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            client = self._by_loop[loop] = AsyncSandbar(**self._options())
        return await client.session(key, **self._spec)

    def _options(self) -> dict[str, Any]:
        if self._client is None:
            return {}
        config = self._client.config
        return {
            "url": config.url,
            "api_key": config.api_key,
            "timeout_s": config.timeout_s,
            "max_retries": config.max_retries,
        }


def _takes_an_argument(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD) for item in parameters)


def _tool(
    name: str,
    description: str,
    schema: type[BaseModel],
    sandboxes: _Sandboxes,
    work: Callable[..., Answer],
    awork: Callable[..., Any],
) -> StructuredTool:
    # LangChain hands the config to the parameter with this annotation; the model does not see it.
    def call(config: RunnableConfig, **arguments: Any) -> Answer:
        try:
            return work(sandboxes.session(config), **arguments)
        except SandbarError as error:
            raise ToolException(str(error)) from error

    async def acall(config: RunnableConfig, **arguments: Any) -> Answer:
        try:
            answer: Answer = await awork(await sandboxes.asession(config), **arguments)
            return answer
        except SandbarError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        func=call,
        coroutine=acall,
        name=name,
        description=description,
        args_schema=schema,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


class _CodeArgs(BaseModel):
    code: str = Field(description="The code to run. Variables and imports of earlier calls are still there.")


class _CommandArgs(BaseModel):
    command: str = Field(description="The shell command. The working directory of earlier calls is kept.")


class _SelectArgs(BaseModel):
    dataset_id: str = Field(description="The id of the dataset.")


class _ExportDatasetArgs(BaseModel):
    dataset_id: str = Field(description="The id of the dataset, as list_datasets shows it.")


class _NoArgs(BaseModel):
    pass


class _ImportFile(BaseModel):
    destination: str = Field(description="Where the file goes in the session, e.g. /session/data/input.csv.")
    content: Optional[str] = Field(None, description="The content itself.")
    encoding: Optional[str] = Field(None, description="base64 when the content is; otherwise leave it out.")
    session_id: Optional[str] = Field(None, description="Take the file from this other session; needs path.")
    path: Optional[str] = Field(None, description="The file's path in that other session.")
    artifact_id: Optional[str] = Field(None, description="Take the bytes of this artifact.")
    source: Optional[str] = Field(None, description="A source on the host that the operator allows.")


class _ImportArgs(BaseModel):
    files: list[_ImportFile] = Field(description="The files to bring into the session.")


class _ExportFile(BaseModel):
    source: str = Field(description="The file's path in the session.")
    name: Optional[str] = Field(None, description="The artifact's name, when it should differ.")


class _ExportArgs(BaseModel):
    files: list[_ExportFile] = Field(description="The files to keep as artifacts.")


def make_code_sandbox_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    timeout_s: Optional[float] = None,
    language: Optional[str] = None,
    image_limit_bytes: int = IMAGE_LIMIT_BYTES,
    output_limit_chars: int = OUTPUT_LIMIT_CHARS,
    name: str = "code_sandbox",
    description: Optional[str] = None,
) -> StructuredTool:
    """Runs code in the thread's session. In a LangGraph run live output goes to the stream writer (``custom`` mode).

    ``image_limit_bytes=0`` keeps images out of the message, for models that take none in tool results.
    """
    chosen = language or (session or {}).get("runtime") or "python"
    run, arun = _runner(language, timeout_s, image_limit_bytes, output_limit_chars)
    return _tool(
        name,
        description
        or f"Run {chosen} code in a sandbox. State persists between calls. Files saved in /session/artifacts "
        "are kept and can be downloaded by the user.",
        _CodeArgs,
        _Sandboxes(client, session_key_fn, session),
        lambda s, code: run(s, code),
        lambda s, code: arun(s, code),
    )


def make_terminal_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    timeout_s: Optional[float] = None,
    output_limit_chars: int = OUTPUT_LIMIT_CHARS,
    name: str = "terminal",
    description: str = (
        "Run a shell command in the sandbox. The working directory and variables persist between calls."
    ),
) -> StructuredTool:
    """Runs shell commands in the thread's session."""
    run, arun = _runner("bash", timeout_s, 0, output_limit_chars)
    return _tool(
        name,
        description,
        _CommandArgs,
        _Sandboxes(client, session_key_fn, session),
        lambda s, command: run(s, command),
        lambda s, command: arun(s, command),
    )


def make_select_dataset_tool(
    client: Optional[Client] = None,
    *,
    fetch_fn: Optional[Callable[..., Any]] = None,
    fetch_client: Any = None,
    source: Optional[str] = None,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "select_dataset",
    description: str = "Load a dataset into the sandbox by its id. Answers the path where it can be read.",
) -> StructuredTool:
    """Stages a dataset: from ``fetch_fn(dataset_id)`` (``fetch_fn(fetch_client, dataset_id)`` when one is given), or
    from a source that the operator registered. The session needs ``datasets="API"``."""

    def work(s: Session, dataset_id: str) -> Answer:
        return _dataset(s.datasets.select(dataset_id, fetch_fn, client=fetch_client, source=source))

    async def awork(s: AsyncSession, dataset_id: str) -> Answer:
        return _dataset(await s.datasets.select(dataset_id, fetch_fn, client=fetch_client, source=source))

    spec = session if session is not None else {"datasets": "API"}
    return _tool(name, description, _SelectArgs, _Sandboxes(client, session_key_fn, spec), work, awork)


def make_export_datasets_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "export_dataset",
    description: str = "Keep a dataset of the sandbox, with the changes made to it, as a file the user can download.",
) -> StructuredTool:
    def work(s: Session, dataset_id: str) -> Answer:
        return _exported_dataset(dataset_id, s.datasets.export(dataset_id))

    async def awork(s: AsyncSession, dataset_id: str) -> Answer:
        return _exported_dataset(dataset_id, await s.datasets.export(dataset_id))

    spec = session if session is not None else {"datasets": "API"}
    return _tool(name, description, _ExportDatasetArgs, _Sandboxes(client, session_key_fn, spec), work, awork)


def make_list_datasets_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "list_datasets",
    description: str = "List the datasets in the sandbox, with their paths and sizes.",
) -> StructuredTool:
    def work(s: Session) -> Answer:
        return _dataset_list(s.datasets.list())

    async def awork(s: AsyncSession) -> Answer:
        return _dataset_list(await s.datasets.list())

    spec = session if session is not None else {"datasets": "API"}
    return _tool(name, description, _NoArgs, _Sandboxes(client, session_key_fn, spec), work, awork)


def make_import_files_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "import_files",
    description: str = "Bring files into the sandbox: content, files of another session, or artifacts.",
) -> StructuredTool:
    def work(s: Session, files: list[Any]) -> Answer:
        return _file_answers(s.import_files(_plain(files)))

    async def awork(s: AsyncSession, files: list[Any]) -> Answer:
        return _file_answers(await s.import_files(_plain(files)))

    return _tool(name, description, _ImportArgs, _Sandboxes(client, session_key_fn, session), work, awork)


def make_export_files_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "export_files",
    description: str = "Keep files of the sandbox as artifacts that the user can download.",
) -> StructuredTool:
    def work(s: Session, files: list[Any]) -> Answer:
        return _file_answers(s.export_files(_plain(files)))

    async def awork(s: AsyncSession, files: list[Any]) -> Answer:
        return _file_answers(await s.export_files(_plain(files)))

    return _tool(name, description, _ExportArgs, _Sandboxes(client, session_key_fn, session), work, awork)


def make_sandbox_tools(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    timeout_s: Optional[float] = None,
    fetch_fn: Optional[Callable[..., Any]] = None,
    fetch_client: Any = None,
) -> list[StructuredTool]:
    """All tools on one session specification; those of datasets only when it has any."""
    common: dict[str, Any] = {"session_key_fn": session_key_fn, "session": session or {}}
    tools = [
        make_code_sandbox_tool(client, timeout_s=timeout_s, **common),
        make_terminal_tool(client, timeout_s=timeout_s, **common),
        make_import_files_tool(client, **common),
        make_export_files_tool(client, **common),
    ]
    datasets = (session or {}).get("datasets") or "NONE"
    access = datasets if isinstance(datasets, str) else datasets.get("access", "NONE")
    if access != "NONE":
        tools.append(make_list_datasets_tool(client, **common))
    if access == "API":
        tools.append(make_select_dataset_tool(client, fetch_fn=fetch_fn, fetch_client=fetch_client, **common))
        tools.append(make_export_datasets_tool(client, **common))
    return tools


def _runner(
    language: Optional[str], timeout_s: Optional[float], image_limit: int, output_limit: int
) -> tuple[Callable[[Session, str], Answer], Callable[[AsyncSession, str], Any]]:
    def run(session: Session, code: str) -> Answer:
        writer = _stream_writer()
        if writer is None:
            execution = session.run(code, language=language, timeout_s=timeout_s)
        else:
            with session.stream(code, language=language, timeout_s=timeout_s) as events:
                for event in events:
                    _tell(writer, event)
            execution = events.result()
        return _execution(execution, image_limit, output_limit)

    async def arun(session: AsyncSession, code: str) -> Answer:
        writer = _stream_writer()
        if writer is None:
            execution = await session.run(code, language=language, timeout_s=timeout_s)
        else:
            async with session.stream(code, language=language, timeout_s=timeout_s) as events:
                async for event in events:
                    _tell(writer, event)
            execution = await events.result()
        return _execution(execution, image_limit, output_limit)

    return run, arun


def _stream_writer() -> Optional[Callable[[Any], None]]:
    try:
        from langgraph.config import get_stream_writer
    except ImportError:
        return None
    try:
        writer: Callable[[Any], None] = get_stream_writer()
        return writer
    except Exception:
        # Outside of a graph there is no run whose stream it could be.
        return None


def _tell(writer: Callable[[Any], None], event: Event) -> None:
    if event.type in ("stdout", "stderr"):
        writer({"type": f"sandbar.{event.type}", "text": event.text})
    elif event.type == "artifact":
        writer({"type": "sandbar.artifact", "artifact": dict(event.data)})


def _execution(execution: Execution, image_limit: int, output_limit: int) -> Answer:
    text = execution_text(execution, output_limit)
    images = []
    for bundle in execution.results:
        for mime in _IMAGES:
            data = bundle.get(mime)
            if not isinstance(data, str):
                continue
            size = len(data) * 3 // 4
            if size <= image_limit:
                images.append({"type": "image", "base64": "".join(data.split()), "mime_type": mime})
            elif image_limit:
                text += f"\n[{mime} of {size} bytes not shown]"
            break
    artifact = {
        "session_id": execution.session_id,
        "execution_id": execution.id,
        "status": execution.status,
        "exit_code": execution.exit_code,
        "artifacts": [item.to_dict() for item in execution.artifacts],
    }
    return ([{"type": "text", "text": text}, *images] if images else text), artifact


def execution_text(execution: Execution, limit: int = OUTPUT_LIMIT_CHARS) -> str:
    """What a model should read of an execution."""
    parts = []
    if execution.stdout:
        parts.append(_cut(execution.stdout, limit, execution.truncated.get("stdout")))
    if execution.stderr:
        parts.append("stderr:\n" + _cut(execution.stderr, limit, execution.truncated.get("stderr")))
    if execution.error is not None:
        error = execution.error
        # The end of a traceback says what failed.
        parts.append((error.traceback or f"{error.name}: {error.value}")[-limit:])
    elif execution.text is not None:
        parts.append(_cut(execution.text, limit, execution.truncated.get("result")))
    if execution.exit_code:
        parts.append(f"exit code {execution.exit_code}")
    if not execution.ok and execution.status != "error":
        parts.append(f"status: {execution.status}")
    lost = [name for name in ("variables", "files") if getattr(execution.state, name) == "lost"]
    if lost:
        parts.append(f"Lost: {' and '.join(lost)} of earlier calls.")
    for item in execution.artifacts:
        parts.append(f"artifact {item.name} ({item.size} bytes, {item.mime}): {item.id}")
    for skipped in execution.artifacts_skipped:
        parts.append(f"not kept as artifact: {skipped.get('name')}: {skipped.get('reason')}")
    return "\n".join(part.rstrip("\n") for part in parts) or "(no output)"


def _cut(text: str, limit: int, total: Optional[int]) -> str:
    whole = max(total or 0, len(text))
    if whole <= limit and len(text) == whole:
        return text
    return f"{text[:limit]}\n[cut: {whole} characters in all]"


def _dataset(dataset: Any) -> Answer:
    if dataset.status == "FAILED":
        raise ToolException(f"dataset {dataset.id} could not be loaded: {dataset.error}")
    return (
        f"dataset {dataset.id} is {dataset.status} at {dataset.path} ({dataset.size} bytes)",
        dataset.to_dict(),
    )


def _exported_dataset(dataset_id: str, artifact: Any) -> Answer:
    text = f"dataset {dataset_id} exported as {artifact.name} ({artifact.size} bytes): {artifact.id}"
    return text, artifact.to_dict()


def _dataset_list(datasets: Any) -> Answer:
    if datasets.access == "NONE":
        return "This sandbox has no datasets.", datasets.to_dict()
    lines = [f"- {item.id}: {item.status}, {item.path}, {item.size} bytes" for item in datasets.data]
    return "\n".join(lines) or "No datasets yet.", datasets.to_dict()


def _file_answers(answers: list[Any]) -> Answer:
    items: list[Model] = answers
    plain = [item.to_dict() for item in items]
    return "\n".join(_file_line(item) for item in answers), plain


def _file_line(item: Any) -> str:
    name = getattr(item, "destination", None) or getattr(item, "source", "")
    if not item.ok:
        error = item.error
        if isinstance(error, dict):
            error = f"{error.get('code')}: {error.get('detail')}"
        return f"{name}: failed: {error}"
    artifact = getattr(item, "artifact", None)
    if artifact is not None:
        return f"{name}: artifact {artifact.name} ({artifact.size} bytes): {artifact.id}"
    return f"{name}: {item.size} bytes"


def _plain(files: list[Any]) -> list[dict[str, Any]]:
    return [
        file.model_dump(exclude_none=True) if isinstance(file, BaseModel) else dict(file) for file in files
    ]
