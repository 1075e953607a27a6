"""The resources of the API as dataclasses. Fields that this version does not know are kept in ``raw``."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, TypeVar, Union

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
    #: container | wasm
    engine: str = "container"
    #: Those that its code may be in; empty until it is ready.
    languages: Sequence[str] = ()
    #: processes | terminals | ports | threads | volumes | bind | images | dependencies | egress
    #: | network_rules | local_datasets
    capabilities: Sequence[str] = ()
    image: Optional[str] = None
    #: creating | ready | busy | stopping | stopped | lost | failed
    status: str = ""
    host_id: Optional[str] = None
    storage: str = ""
    datasets: Mapping[str, str] = field(default_factory=dict)
    #: none | egress, or rules: {"allow": [...]}
    network: Union[str, Mapping[str, Any]] = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    #: Packages that were installed for it, with the versions that were asked for.
    dependencies: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The key or token that made it.
    created_by: Optional[str] = None
    created_at: str = ""
    last_used_at: str = ""
    expires_at: Optional[str] = None
    #: Of a session that began with a snapshot: which, and what became of the variables of each context.
    restored: Optional[Mapping[str, Any]] = None
    error: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class Snapshot(Model):
    id: str = ""
    #: SHA-256 of its manifest.
    digest: str = ""
    name: Optional[str] = None
    session_id: str = ""
    runtime: str = ""
    engine: str = "container"
    image: Optional[str] = None
    size: int = 0
    files_bytes: int = 0
    #: What the tenant did not have stored before.
    new_bytes: int = 0
    #: What became of the variables, context by context: saved, degraded, lost, and by name with the reason.
    contexts: Sequence[Mapping[str, Any]] = ()
    created_at: str = ""
    expires_at: str = ""


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
class SessionNetwork(Model):
    """What a session may reach by name, and what it has reached."""

    allow: Sequence[str] = ()
    #: Each with host and header, and the name of a stored one as secret.
    secrets: Sequence[Mapping[str, Any]] = ()
    #: open, connections, denied, bytes_up, bytes_down, recent (the newest connections)
    use: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Secret(Model):
    """A stored secret, without its value."""

    name: str = ""
    #: Where it may be sent; empty: wherever a session of the tenant says.
    hosts: Sequence[str] = ()
    created_at: str = ""
    updated_at: str = ""


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
    #: key | cookie | token
    via: str = "key"
    #: With a session's token: ``{"id", "session_id", "verbs"}``.
    token: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class SessionToken(Model):
    """With it as ``api_key`` a client has one session, and what ``verbs`` says."""

    id: str = ""
    session_id: str = ""
    #: run, files, terminal, ports, read
    verbs: Sequence[str] = ()
    label: Optional[str] = None
    #: The key that made it, and with which it ends.
    key_id: str = ""
    created_at: str = ""
    expires_at: str = ""
    #: Only in the answer that made it.
    token: Optional[str] = field(default=None, repr=False)


@dataclass(frozen=True)
class ConsoleLink(Model):
    """Signs a browser in, once."""

    url: str = ""
    code: str = field(default="", repr=False)
    expires_at: str = ""


@dataclass(frozen=True)
class AuditEntry(Model):
    """Who did what, to what, and how it ended."""

    id: str = ""
    at: str = ""
    #: Of the last one, where the same happened ``count`` times within seconds.
    last_at: str = ""
    count: int = 1
    tenant: Optional[str] = None
    key_id: Optional[str] = None
    token_id: Optional[str] = None
    #: key | cookie | token | agent | host
    via: Optional[str] = None
    address: Optional[str] = None
    action: str = ""
    target: Optional[str] = None
    #: "ok", or the code of the refusal.
    result: str = ""
    request_id: Optional[str] = None


@dataclass(frozen=True)
class EffectivePolicy(Model):
    """What a tenant may do and how much it may have, with every default filled in."""

    #: egress, bind, volumes, dependencies, images, local_datasets: bool; imports: bool or folders.
    allow: Mapping[str, Any] = field(default_factory=dict)
    engines: Sequence[str] = ()
    #: Of one session.
    max: Mapping[str, float] = field(default_factory=dict)
    #: Of the whole tenant: sessions, memory_mb, cpus, host_percent, volumes, volume_mb; None: no limit.
    shares: Mapping[str, Optional[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class TenantPolicy(Model):
    tenant: str = ""
    #: What was set for this tenant itself.
    policy: Mapping[str, Any] = field(default_factory=dict)
    #: With what holds for all tenants, and the defaults.
    effective: Mapping[str, Any] = field(default_factory=dict)
    updated_at: Optional[str] = None


@dataclass(frozen=True)
class Settings(Model):
    """The agent's settings: the tenant's own over the operator's."""

    #: ``provider:model``
    model: Optional[str] = None
    base_url: Optional[str] = None
    #: By provider: ``{"set", "last_four", "from"}``. Keys themselves are never shown.
    api_keys: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    temperature: Optional[float] = None
    iterations: int = 25
    prompt: str = ""
    approval: bool = False
    read_only: bool = False
    vision: Optional[bool] = None
    #: Which of these the tenant has set.
    own: Sequence[str] = ()
    #: Whether the agent can be asked; when not, ``missing`` says what to set.
    ready: bool = False
    missing: Optional[str] = None
    updated_at: Optional[str] = None


@dataclass(frozen=True)
class ModelTest(Model):
    """What the provider said to one small question."""

    ok: bool = False
    detail: str = ""
    model: Optional[str] = None
    duration_ms: float = 0


@dataclass(frozen=True)
class ModelChoice(Model):
    """A provider, and whether it can be asked."""

    provider: str = ""
    ready: bool = False
    #: settings | environment
    key: Optional[str] = None
    #: As ``provider:model``; of Ollama what it has pulled.
    models: Sequence[str] = ()
    #: Why it is not ready.
    detail: Optional[str] = None


@dataclass(frozen=True)
class Preview(Model):
    """Shows a port of a session, without a key."""

    url: str = ""
    expires_at: str = ""


@dataclass(frozen=True)
class ListeningPort(Model):
    """Where something listens inside a session, and who that is as far as it can be seen."""

    port: int = 0
    addresses: tuple[str, ...] = ()
    pid: Optional[int] = None
    command: Optional[str] = None
    #: The process of the API that it is, or that started it.
    process_id: Optional[str] = None

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> ListeningPort:
        return dataclasses.replace(super().parse(data), addresses=tuple(data.get("addresses") or ()))


@dataclass(frozen=True)
class FileEntry(Model):
    path: str = ""
    name: str = ""
    #: file | directory | symlink | fifo | socket | device
    type: str = ""
    size: Optional[int] = None
    mode: Optional[int] = None
    mtime: Optional[str] = None
    #: Changes whenever the content may have.
    etag: Optional[str] = None
    #: Where a symlink points.
    target: Optional[str] = None


@dataclass(frozen=True)
class Written(Model):
    """What a write left, as far as the server says."""

    size: Optional[int] = None
    sha256: Optional[str] = None
    etag: Optional[str] = None


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
    #: The key or token that asked for it.
    created_by: Optional[str] = None
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
    #: Over the network by name, both ways.
    egress_bytes: int = 0
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


@dataclass(frozen=True)
class SessionEvent:
    """What happened to a session: its states, and progress while it is made."""

    id: str
    type: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class FileChange(Model):
    """Something changed below a watched folder."""

    #: created | modified | deleted | overflow (so much changed that some of it was not told: list again)
    type: str = ""
    #: Below the watched folder.
    path: str = ""
    directory: bool = False


@dataclass(frozen=True)
class ProcessInfo(Model):
    id: str = ""
    session_id: str = ""
    command: str = ""
    cwd: str = ""
    #: ``{"cols", "rows"}`` of its terminal, or None.
    pty: Optional[Mapping[str, int]] = None
    pid: int = 0
    #: running | exited
    status: str = ""
    exit_code: Optional[int] = None
    #: The signal that ended it, ``SIGTERM`` say.
    signal: Optional[str] = None
    oom_killed: bool = False
    started_at: str = ""
    finished_at: Optional[str] = None
    last_event_id: int = 0
    #: Output that is gone because there was too much of it.
    dropped_bytes: int = 0


@dataclass(frozen=True)
class ProcessEvent:
    """``stdout``, ``stderr``, ``dropped`` (older output was too much to keep) or ``exit`` (once, last)."""

    id: str
    type: str
    data: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Of stdout and stderr; otherwise empty."""
        return str(self.data.get("text", "")) if self.type in ("stdout", "stderr") else ""


@dataclass(frozen=True)
class TerminalExit:
    exit_code: Optional[int]
    signal: Optional[str]


@dataclass(frozen=True)
class Usage(Model):
    """What a tenant has used, and what it may have at once (None: no limit)."""

    tenant: str = ""
    sessions: int = 0
    executions: int = 0
    seconds: float = 0.0
    bytes: int = 0
    live_sessions: int = 0
    artifacts: Mapping[str, int] = field(default_factory=dict)
    #: count, and size_mb: what they may hold together, whatever is in them.
    volumes: Mapping[str, int] = field(default_factory=dict)
    #: bytes_today: over the network by name since midnight of UTC, both ways.
    egress: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, Optional[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Host(Model):
    id: str = ""
    name: str = ""
    #: joining | online | unreachable | lost
    status: str = ""
    cordoned: bool = False
    sessions: int = 0
    #: Of its capacity's memory, what its sessions may use.
    memory_reserved_mb: int = 0
    capacity: Optional[Mapping[str, Any]] = None
    version: Optional[str] = None
    joined_at: str = ""
    last_seen_at: Optional[str] = None


@dataclass(frozen=True)
class HostLoad(Model):
    load_average: Sequence[float] = ()
    memory_bytes: int = 0
    memory_available_bytes: int = 0
    disk_bytes: int = 0
    disk_available_bytes: int = 0
    #: ``{"runtime", "ready", "wanted"}`` for each warm pool.
    pool: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Enrollment(Model):
    token: str = field(default="", repr=False)
    expires_at: str = ""


@dataclass(frozen=True)
class ApiKey(Model):
    id: str = ""
    name: str = ""
    tenant: str = ""
    scopes: Sequence[str] = ()
    created_at: str = ""
    expires_at: Optional[str] = None
    last_used_at: Optional[str] = None
    #: Only in the answer that made it.
    secret: Optional[str] = field(default=None, repr=False)


@dataclass(frozen=True)
class DatasetSource(Model):
    id: str = ""
    name: str = ""
    url_template: str = ""
    header_names: Sequence[str] = ()
    tenant: Optional[str] = None
    created_at: str = ""


@dataclass(frozen=True)
class Volume(Model):
    id: str = ""
    name: str = ""
    #: None until a session has used it.
    host_id: Optional[str] = None
    #: What it may hold; None for the host's default.
    size_mb: Optional[int] = None
    #: Bytes in use; None when its host cannot be asked.
    size: Optional[int] = None
    created_at: str = ""


@dataclass(frozen=True)
class RunOnceResult(Model):
    execution: Execution = field(default_factory=Execution)
    #: What became of the variables of the snapshot that it began with.
    restored: Optional[Mapping[str, Any]] = None
    #: With ``keep="snapshot"``.
    snapshot: Optional[Snapshot] = None
    #: With ``keep="bytes"``: in base64, sealed by the deployment that made them.
    snapshot_bytes: Optional[str] = None
    #: Why nothing was kept though ``keep`` asked for it: code, detail, hint. The code has run all the same.
    keep_error: Optional[Mapping[str, Any]] = None

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> RunOnceResult:
        kept = data.get("snapshot")
        return cls(
            raw=dict(data),
            execution=Execution.parse(data["execution"]),
            restored=data.get("restored"),
            snapshot=None if kept is None else Snapshot.parse(kept),
            snapshot_bytes=data.get("snapshot_bytes"),
            keep_error=data.get("keep_error"),
        )
