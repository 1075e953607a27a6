"""Sandbar: self-hosted code-execution sandboxes for AI agents.

>>> from sandbar import Sandbox
>>> with Sandbox("http://127.0.0.1:8787") as sandbox:
...     print(sandbox.execute("ls -la").output)
"""

from ._async._client import AsyncSandbar, AsyncSandbox
from ._async._session import AsyncSession
from ._async._stream import AsyncEventStream
from ._config import Config
from ._errors import (
    APIError,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    CorruptDownloadError,
    ExecutionFailed,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    SandbarError,
    ServerError,
    SessionEndedError,
    UnavailableError,
)
from ._models import (
    Artifact,
    Completion,
    ConsoleLink,
    Context,
    Dataset,
    DatasetList,
    Event,
    Execution,
    ExecutionError,
    Exported,
    FileEntry,
    FileStat,
    Imported,
    Link,
    Match,
    Me,
    Preview,
    Sample,
    SessionInfo,
    SessionMetrics,
    State,
    Survival,
    TenantEvent,
    UsagePoint,
    UsageSeries,
    Written,
)
from ._sync._client import Sandbar, Sandbox
from ._sync._session import Session
from ._sync._stream import EventStream
from ._version import __version__

#: The name that other sandbox clients use.
SandboxClient = Sandbox

__all__ = [
    "APIError",
    "Artifact",
    "AsyncEventStream",
    "AsyncSandbar",
    "AsyncSandbox",
    "AsyncSession",
    "AuthenticationError",
    "Completion",
    "Config",
    "ConflictError",
    "ConnectionFailedError",
    "ConsoleLink",
    "Context",
    "CorruptDownloadError",
    "Dataset",
    "DatasetList",
    "Event",
    "EventStream",
    "Execution",
    "ExecutionError",
    "ExecutionFailed",
    "Exported",
    "FileEntry",
    "FileStat",
    "Imported",
    "InvalidRequestError",
    "Link",
    "Match",
    "Me",
    "NotFoundError",
    "PermissionDeniedError",
    "Preview",
    "RateLimitError",
    "Sample",
    "Sandbar",
    "SandbarError",
    "Sandbox",
    "SandboxClient",
    "ServerError",
    "Session",
    "SessionEndedError",
    "SessionInfo",
    "SessionMetrics",
    "State",
    "Survival",
    "TenantEvent",
    "UnavailableError",
    "UsagePoint",
    "UsageSeries",
    "Written",
    "__version__",
]
