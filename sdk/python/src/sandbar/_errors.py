"""What the client raises. Every error has a code, says whether trying again can help, and what to do."""

from __future__ import annotations

import email.utils
import json
import time
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ._models import Execution


class SandbarError(Exception):
    """Base of everything this package raises on purpose."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int = 0,
        title: Optional[str] = None,
        hint: Optional[str] = None,
        retryable: bool = False,
        request_id: Optional[str] = None,
        errors: Optional[list[dict[str, str]]] = None,
        retry_after_s: Optional[float] = None,
        execution_id: Optional[str] = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        #: HTTP status, or 0 when no answer came.
        self.status = status
        self.title = title
        self.hint = hint
        self.retryable = retryable
        self.request_id = request_id
        #: Which fields of the request were wrong: ``[{"path", "message"}]``.
        self.errors = errors or []
        self.retry_after_s = retry_after_s
        #: Set when an execution had been accepted: it runs on, and ``session.execution(id)`` finds it again.
        self.execution_id = execution_id

    def __str__(self) -> str:
        text = f"{self.code}: {self.detail}"
        for error in self.errors:
            wrong = f"{error.get('path', '')}: {error.get('message', '')}"
            if wrong not in text:
                text += f"; {wrong}"
        if self.hint:
            text += f" ({self.hint})"
        if self.request_id:
            text += f" [request {self.request_id}]"
        return text

    def __reduce__(self) -> Any:
        # Exceptions are otherwise rebuilt from their message alone.
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(cls: type[SandbarError], args: tuple[Any, ...], fields: dict[str, Any]) -> SandbarError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(fields)
    return error


class APIError(SandbarError):
    """The server answered with a problem."""


class InvalidRequestError(APIError):
    """400, 405, 406, 413, 415, 416, 422: the request cannot be served as it is."""


class AuthenticationError(APIError):
    """401: no valid API key."""


class PermissionDeniedError(APIError):
    """403: the key, the link or the operator's lists do not allow it."""


class NotFoundError(APIError):
    """404: it does not exist, or belongs to another tenant."""


class ConflictError(APIError):
    """409: it contradicts what is there already."""


class SessionEndedError(APIError):
    """410: the session is over; create it again."""


class RateLimitError(APIError):
    """429: too much at once."""


class ServerError(APIError):
    """5xx: Sandbar, a host, or something on the way failed."""


class UnavailableError(ServerError):
    """503, 504: no host has room or answers now."""


class ConnectionFailedError(SandbarError):
    """No answer came: ``NETWORK_ERROR``, or ``CLIENT_TIMEOUT`` when the wait was too long."""


class CorruptDownloadError(SandbarError):
    """The bytes that arrived do not have the announced SHA-256."""


class ExecutionFailed(SandbarError):
    """Raised by ``check=True`` and :meth:`Execution.raise_for_error`; ``execution`` is the whole record."""

    def __init__(self, execution: Execution) -> None:
        error = execution.error
        reason = f"{error.name}: {error.value}" if error else f"it ended as {execution.status}"
        if execution.status == "error":
            code = "EXECUTION_ERROR"
        else:
            code = error.name if error else f"EXECUTION_{execution.status.upper()}"
        ending = ENDINGS.get(code, {})
        state = execution.state
        why = f": {state.reason}" if state.reason else ""
        super().__init__(
            code,
            f"{reason} (variables {state.variables}{why}, files {state.files})",
            hint=ending.get("hint"),
            retryable=ending.get("retryable", False),
            execution_id=execution.id,
        )
        self.execution = execution


#: The part of the server's error table that stands in execution records (a unit test compares the two).
ENDINGS: dict[str, dict[str, Any]] = {
    "EXECUTION_TIMEOUT": {"hint": "Raise timeout_s, or run it as a process.", "retryable": False},
    "INTERRUPTED": {"hint": "state says whether the variables survived.", "retryable": False},
    "KERNEL_DIED": {
        "hint": "A new kernel is ready; files are kept, variables are gone.",
        "retryable": False,
    },
    "CONTAINER_DIED": {"hint": "Create the session again.", "retryable": False},
    "OOM_KILLED": {
        "hint": "Use less memory or a session with a larger limits.memory_mb; "
        "files are kept, variables are gone.",
        "retryable": False,
    },
    "PROCESS_LIMIT": {
        "hint": "End some with DELETE …/processes/:pid, or create the session with larger limits.pids.",
        "retryable": True,
    },
    "STORAGE_FULL": {
        "hint": "Remove files, or create the session with a larger limits.tmpfs_mb or with storage BIND.",
        "retryable": False,
    },
    "SESSION_STOPPED": {"hint": "Create the session again.", "retryable": False},
    "HOST_LOST": {
        "hint": "The code did not run. Create the session again on another host.",
        "retryable": True,
    },
    "OUTCOME_UNKNOWN": {
        "hint": "The code may or may not have finished. Check its effects before you run it again.",
        "retryable": False,
    },
}

_BY_STATUS: dict[int, type[APIError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: SessionEndedError,
    429: RateLimitError,
    503: UnavailableError,
    504: UnavailableError,
}


def class_for(status: int) -> type[APIError]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return ServerError if status >= 500 else InvalidRequestError if status >= 400 else APIError


# A HEAD answer has no body to read the code from.
_CODE_WITHOUT_BODY = {401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 410: "SESSION_ENDED"}


def error_from_answer(status: int, headers: Any, body: bytes) -> APIError:
    retry_after_s = parse_retry_after(headers.get("retry-after"))
    problem = _parse_problem(body)
    cls = class_for(status)
    if problem is not None:
        return cls(
            problem["code"],
            str(problem.get("detail") or problem.get("title") or problem["code"]),
            status=status,
            title=problem.get("title"),
            hint=problem.get("hint"),
            retryable=bool(problem.get("retryable", False)),
            request_id=problem.get("request_id"),
            errors=problem.get("errors"),
            retry_after_s=retry_after_s,
        )
    if not body and status in _CODE_WITHOUT_BODY:
        return cls(_CODE_WITHOUT_BODY[status], f"the answer was {status}", status=status)
    return cls(
        "UNEXPECTED_ANSWER",
        f"{status} {body[:300].decode('utf-8', 'replace')}".strip(),
        status=status,
        hint="This does not look like Sandbar's answer; check the URL, and proxies on the way.",
        retryable=status in (429, 502, 503, 504),
        request_id=headers.get("x-request-id"),
        retry_after_s=retry_after_s,
    )


def _parse_problem(body: bytes) -> Optional[dict[str, Any]]:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("code"), str) else None


def connection_failed(cause: Exception, *, timed_out: bool) -> ConnectionFailedError:
    return ConnectionFailedError(
        "CLIENT_TIMEOUT" if timed_out else "NETWORK_ERROR",
        str(cause) or type(cause).__name__,
        hint="Check the URL, and that Sandbar runs.",
        retryable=True,
    )


def parse_retry_after(value: Optional[str]) -> Optional[float]:
    if value is None:
        return None
    try:
        seconds = float(value)
        return seconds if seconds >= 0 else None
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
