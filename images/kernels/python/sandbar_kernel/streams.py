"""sys.stdout and sys.stderr over descriptors 1 and 2. What an earlier execution's thread or task writes goes out as `late`."""

import contextvars
import io
import os
import sys
import threading
import time

_native_id = threading.get_native_id
_listdir = os.listdir
_frames = sys._current_frames
_monotonic = time.monotonic
_base_write = io.TextIOWrapper.write
_base_flush = io.TextIOWrapper.flush

PROMPT_WRITES = 2000
"""So many pieces of a line per execution leave at once; whoever writes more gets them at most every FLUSH_S."""
FLUSH_S = 0.01

execution = contextvars.ContextVar("sandbar_execution", default=None)


class Owners:
    """Which threads and tasks belong to the running execution."""

    def __init__(self) -> None:
        self._current = None
        self._stale = frozenset()
        self._main = _native_id()

    def begin(self, ident: str) -> None:
        self._current = ident
        execution.set(ident)
        # Native ids: Python's own thread idents are used again as soon as a thread has ended.
        if len(_frames()) > 1:
            try:
                self._stale = frozenset(int(name) for name in _listdir("/proc/self/task")) - {self._main}
            except OSError:
                self._stale = frozenset()
        else:
            self._stale = frozenset()

    def foreign(self) -> bool:
        owner = execution.get()
        if owner is not None:
            return owner != self._current
        return bool(self._stale) and _native_id() in self._stale


class Stream(io.TextIOWrapper):
    def __init__(self, fd: int, name: str, channel, owners: Owners) -> None:
        raw = io.FileIO(fd, "w", closefd=False)
        super().__init__(io.BufferedWriter(raw, 65536), encoding="utf-8", errors="backslashreplace", newline="\n")
        self._sandbar = (name, channel, owners)
        self._partial = 0
        self._flushed = 0.0

    def write(self, text: str) -> int:
        name, channel, owners = self._sandbar
        if owners.foreign() and channel.ours():
            channel.send({"op": "late", "stream": name, "text": text})
            return len(text)
        written = _base_write(self, text)
        if "\n" in text:
            _base_flush(self)
        elif text:
            self._partial += 1
            if self._partial < PROMPT_WRITES:
                _base_flush(self)
            else:
                now = _monotonic()
                if now - self._flushed > FLUSH_S:
                    self._flushed = now
                    _base_flush(self)
        return written

    def begin(self) -> None:
        self._partial = 0

    # The descriptor outlives whoever closes this object; the next execution gets a new one.
    def isatty(self) -> bool:
        return False


def flush(stream) -> None:
    try:
        stream.flush()
    except Exception:
        pass
