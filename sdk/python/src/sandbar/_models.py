"""The resources of the API as dataclasses. Fields that this version does not know are kept in ``raw``."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, TypeVar

from ._errors import ExecutionFailed
from ._notebook import html_of
from ._utf16 import characters_of

T = TypeVar("T", bound="Model")


@dataclass(frozen=True)
class Model:
    #: The answer as it came.
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def parse(cls: type[T], data: Mapping[str, Any]) -> T:
        names = {item.name for item in dataclasses.fields(cls)} - {"raw"}
        return cls(raw=dict(data), **{name: data[name] for name in names & data.keys()})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, as the server sent it."""
        return dict(self.raw)


@dataclass(frozen=True)
class SessionInfo(Model):
    id: str = ""
    key: str = ""
    runtime: str = ""
    image: Optional[str] = None
    #: creating | ready | busy | stopping | stopped | lost | failed
    status: str = ""
    host_id: Optional[str] = None
    storage: str = ""
    datasets: Mapping[str, str] = field(default_factory=dict)
    network: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    created_at: str = ""
    last_used_at: str = ""
    expires_at: Optional[str] = None
    error: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class Artifact(Model):
    id: str = ""
    session_id: str = ""
    execution_id: Optional[str] = None
    name: str = ""
    size: int = 0
    mime: str = "application/octet-stream"
    sha256: str = ""
    created_at: str = ""
    expires_at: Optional[str] = None
    url: str = ""


@dataclass(frozen=True)
class Link(Model):
    url: str = ""
    expires_at: str = ""


@dataclass(frozen=True)
class Dataset(Model):
    id: str = ""
    #: PENDING | LOADED | FAILED
    status: str = ""
    path: Optional[str] = None
    size: Optional[int] = None
    sha256: Optional[str] = None
    version: Optional[str] = None
    mtime: Optional[str] = None
    error: Any = None


@dataclass(frozen=True)
class DatasetList(Model):
    """What the session has: ``access`` is NONE, LOCAL_RO or API."""

    access: str = "NONE"
    data: tuple[Dataset, ...] = ()

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> DatasetList:
        items = tuple(Dataset.parse(item) for item in data.get("data", ()))
        return cls(raw=dict(data), access=data.get("access", "NONE"), data=items)


@dataclass(frozen=True)
class Context(Model):
    id: str = ""
    name: str = ""
    language: str = ""
    created_at: str = ""
    queued: int = 0
    running: Optional[str] = None
    #: ``at`` and ``reason``: when its variables were last lost while no code ran in it.
    lost: Optional[Mapping[str, str]] = None


@dataclass(frozen=True)
class State(Model):
    """The first 500 variables (``name``, ``type``, short repr, size), how many there are, imports and the working directory."""

    variables: tuple[Mapping[str, Any], ...] = ()
    total: int = 0
    imports: tuple[Any, ...] = ()
    cwd: str = ""

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> State:
        return cls(
            raw=dict(data),
            variables=tuple(data.get("variables") or ()),
            total=data.get("total") or 0,
            imports=tuple(data.get("imports") or ()),
            cwd=data.get("cwd") or "",
        )

    def __contains__(self, name: object) -> bool:
        return any(variable.get("name") == name for variable in self.variables)


@dataclass(frozen=True)
class Sample(Model):
    at: str = ""
    #: Since the sample before; 100 is one core.
    cpu_percent: float = 0.0
    #: Without the page cache; files in memory count.
    memory_bytes: int = 0
    processes: int = 0
    #: None for a folder of the host, which is not counted.
    disk_bytes: Optional[int] = None


@dataclass(frozen=True)
class SessionMetrics(Model):
    """Samples, the oldest first, the last one of now; and the session's limits."""

    data: tuple[Sample, ...] = ()
    interval_ms: int = 0
    limits: Mapping[str, Optional[float]] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> SessionMetrics:
        simple = super().parse(data)
        return dataclasses.replace(simple, data=tuple(Sample.parse(item) for item in data.get("data") or ()))


@dataclass(frozen=True)
class Match(Model):
    """``text`` stands for the code from the completion's ``start`` to its ``end``."""

    text: str = ""
    #: function | class | module | instance | property | keyword | param | key | path | magic | command | variable
    type: Optional[str] = None
    signature: Optional[str] = None


@dataclass(frozen=True)
class Completion(Model):
    """What could stand for ``code[start:end]``; ``busy`` while the context runs code."""

    matches: tuple[Match, ...] = ()
    start: int = 0
    end: int = 0
    busy: bool = False

    @classmethod
    def of(cls, code: str, data: Mapping[str, Any]) -> Completion:
        return cls(
            raw=dict(data),
            matches=tuple(Match.parse(match) for match in data.get("matches") or ()),
            start=characters_of(code, data.get("start") or 0),
            end=characters_of(code, data.get("end") or 0),
            busy=data.get("busy") is True,
        )


@dataclass(frozen=True)
class Me(Model):
    """Who calls."""

    tenant: str = ""
    #: ``{"id", "name"}``
    key: Mapping[str, str] = field(default_factory=dict)
    scopes: Sequence[str] = ()
    expires_at: Optional[str] = None
    #: key | cookie
    via: str = "key"


@dataclass(frozen=True)
class ConsoleLink(Model):
    """Signs a browser in, once."""

    url: str = ""
    code: str = field(default="", repr=False)
    expires_at: str = ""


@dataclass(frozen=True)
class Preview(Model):
    """Shows a port of a session, without a key."""

    url: str = ""
    expires_at: str = ""


@dataclass(frozen=True)
class FileEntry(Model):
    path: str = ""
    name: str = ""
    #: file | directory | symlink | fifo | socket | device
    type: str = ""
    size: Optional[int] = None
    mode: Optional[int] = None
    mtime: Optional[str] = None
    #: Where a symlink points.
    target: Optional[str] = None


@dataclass(frozen=True)
class Written(Model):
    """What a write left, as far as the server says."""

    size: Optional[int] = None
    sha256: Optional[str] = None


@dataclass(frozen=True)
class FileStat:
    """What HEAD says of a file."""

    size: Optional[int]
    mime: Optional[str]
    etag: Optional[str]
    last_modified: Optional[str]


@dataclass(frozen=True)
class Imported(Model):
    destination: str = ""
    ok: bool = False
    size: Optional[int] = None
    sha256: Optional[str] = None
    error: Any = None


@dataclass(frozen=True)
class Exported(Model):
    source: str = ""
    ok: bool = False
    artifact: Optional[Artifact] = None
    error: Any = None

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Exported:
        artifact = data.get("artifact")
        return cls(
            raw=dict(data),
            source=data.get("source", ""),
            ok=bool(data.get("ok")),
            artifact=Artifact.parse(artifact) if artifact else None,
            error=data.get("error"),
        )


@dataclass(frozen=True)
class ExecutionError(Model):
    name: str = ""
    value: str = ""
    traceback: str = ""


@dataclass(frozen=True)
class Survival(Model):
    """What is left after an execution: "kept" or "lost"."""

    variables: str = "kept"
    files: str = "kept"
    #: Why the variables were gone before this code began, and since when.
    reason: Optional[str] = None
    lost_at: Optional[str] = None


@dataclass(frozen=True)
class Execution(Model):
    id: str = ""
    session_id: str = ""
    context: str = ""
    language: str = ""
    #: queued | running | ok | error | timeout | interrupted | died | unknown
    status: str = ""
    #: In lists, and of one that is asked for by its id: what ran. None when it is too long to be kept.
    code: Optional[str] = None
    stdout: str = ""
    stderr: str = ""
    #: The last text/plain result: what a REPL would have printed.
    text: Optional[str] = None
    #: MIME bundles in the order in which they came.
    results: tuple[Mapping[str, Any], ...] = ()
    error: Optional[ExecutionError] = None
    exit_code: Optional[int] = None
    #: Which fields were cut, and how long they were. A MIME type: a value that was left out.
    truncated: Mapping[str, int] = field(default_factory=dict)
    artifacts: tuple[Artifact, ...] = ()
    artifacts_skipped: tuple[Mapping[str, str], ...] = ()
    state: Survival = field(default_factory=Survival)
    queued_at: str = ""
    started_at: Optional[str] = None
    finished_at: Optional[str] = None
    duration_ms: Optional[float] = None

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Execution:
        simple = super().parse(data)
        return dataclasses.replace(
            simple,
            results=tuple(data.get("results") or ()),
            error=ExecutionError.parse(data["error"]) if data.get("error") else None,
            artifacts=tuple(Artifact.parse(item) for item in data.get("artifacts") or ()),
            artifacts_skipped=tuple(data.get("artifacts_skipped") or ()),
            state=Survival.parse(data.get("state") or {}),
        )

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def done(self) -> bool:
        return self.status not in ("queued", "running")

    @property
    def output(self) -> str:
        """stdout, then stderr."""
        return self.stdout + self.stderr

    def raise_for_error(self) -> Execution:
        """Itself when it ended well; raises :class:`ExecutionFailed` otherwise."""
        if not self.ok:
            raise ExecutionFailed(self)
        return self

    def result(self, mime: str) -> Any:
        """The last result of a MIME type as it came (text, base64 or a JSON value), or None."""
        for bundle in reversed(self.results):
            if mime in bundle:
                return bundle[mime]
        return None

    def json(self) -> Any:
        return self.result("application/json")

    def html(self) -> Optional[str]:
        value = self.result("text/html")
        return value if isinstance(value, str) else None

    def png(self) -> Optional[bytes]:
        """The last image/png, decoded."""
        value = self.result("image/png")
        return base64.b64decode(value) if isinstance(value, str) else None

    def pngs(self) -> list[bytes]:
        return [base64.b64decode(bundle["image/png"]) for bundle in self.results if "image/png" in bundle]

    def __getitem__(self, name: str) -> Any:
        """``result["output"]``, ``result["exit_code"]``: any field or property by name."""
        if name.startswith("_") or (not hasattr(type(self), name) and name not in self.__dict__):
            raise KeyError(name)
        return getattr(self, name)

    def __str__(self) -> str:
        """What a terminal would show."""
        parts = [self.stdout, self.stderr]
        if self.error:
            parts.append(self.error.traceback or f"{self.error.name}: {self.error.value}")
        elif self.text is not None:
            parts.append(self.text)
        return "\n".join(part.rstrip("\n") for part in parts if part)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": html_of(self)}


@dataclass(frozen=True)
class Event:
    """One event of an execution: ``started``, ``stdout``, ``stderr``, ``result``, ``artifact``, ``error``,
    ``finished`` (once, last)."""

    id: int
    type: str
    data: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Of stdout and stderr: the text; of a result: its text/plain; otherwise empty."""
        value = self.data.get("text/plain" if self.type == "result" else "text")
        return value if isinstance(value, str) and self.type in ("stdout", "stderr", "result") else ""

    @property
    def execution(self) -> Optional[Execution]:
        return Execution.parse(self.data) if self.type == "finished" else None

    @property
    def artifact(self) -> Optional[Artifact]:
        return Artifact.parse(self.data) if self.type == "artifact" else None

    @property
    def error(self) -> Optional[ExecutionError]:
        return ExecutionError.parse(self.data) if self.type == "error" else None


@dataclass(frozen=True)
class TenantEvent:
    """Something that happened: ``hello``, ``session``, ``execution``, ``artifact``, ``host`` or ``reset``."""

    id: str
    type: str
    data: Mapping[str, Any]

    @property
    def session(self) -> Optional[SessionInfo]:
        return SessionInfo.parse(self.data) if self.type == "session" else None

    @property
    def artifact(self) -> Optional[Artifact]:
        return Artifact.parse(self.data) if self.type == "artifact" else None


@dataclass(frozen=True)
class UsagePoint(Model):
    #: The beginning of the step.
    at: str = ""
    executions: int = 0
    #: How many did not end well, by code.
    errors: Mapping[str, int] = field(default_factory=dict)
    p50_ms: Optional[float] = None
    p95_ms: Optional[float] = None
    artifacts: int = 0
    artifact_bytes: int = 0
    sessions_created: int = 0
    sessions_peak: int = 0


@dataclass(frozen=True)
class UsageSeries(Model):
    tenant: str = ""
    step_s: int = 0
    data: tuple[UsagePoint, ...] = ()

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> UsageSeries:
        simple = super().parse(data)
        return dataclasses.replace(
            simple, data=tuple(UsagePoint.parse(item) for item in data.get("data") or ())
        )
