"""What can never be saved, known without trying, and why."""

import io
import sys
import types

# (module, type, what it is): looked up among the modules that are there, so that nothing is imported for it.
_LOST = (
    ("threading", "Thread", "a thread"),
    ("subprocess", "Popen", "a process"),
    ("multiprocessing.process", "BaseProcess", "a process"),
    ("multiprocessing.pool", "Pool", "a pool of processes"),
    ("concurrent.futures", "Executor", "a pool of threads or processes"),
    ("concurrent.futures", "Future", "what a thread or process is to bring"),
    ("_asyncio", "Future", "a task of an event loop"),
    ("asyncio", "Future", "a task of an event loop"),
    ("asyncio", "AbstractEventLoop", "an event loop"),
    ("_thread", "LockType", "a lock"),
    ("_thread", "RLock", "a lock"),
    ("socket", "socket", "a connection"),
    ("sqlite3", "Connection", "a connection"),
    ("sqlite3", "Cursor", "a connection"),
    ("_duckdb", "DuckDBPyConnection", "a connection"),
    ("duckdb", "DuckDBPyConnection", "a connection"),
)
_RUNNING = (
    (types.GeneratorType, "a generator"),
    (types.AsyncGeneratorType, "a generator"),
    (types.CoroutineType, "a coroutine"),
    (types.FrameType, "a stack frame"),
    (types.TracebackType, "a traceback"),
)
REASON_CHARS = 300


def never(value) -> "str | None":
    """Why this value is lost, if its type alone says so."""
    for kind, what in _RUNNING:
        if isinstance(value, kind):
            return "%s cannot be saved" % what
    for module, name, what in _LOST:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return "%s cannot be saved" % what
    if isinstance(value, io.IOBase) and not isinstance(value, (io.BytesIO, io.StringIO)) and not readable_only(value):
        return "a file that is closed, or open for writing, cannot be saved"
    return None


def readable_only(handle) -> bool:
    return not handle.closed and handle.readable() and not handle.writable()


def failure(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:
        text = ""
    return ("%s: %s" % (type(error).__name__, text) if text else type(error).__name__)[:REASON_CHARS]
