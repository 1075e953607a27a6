"""sys.stdout and sys.stderr over descriptors 1 and 2. What an earlier execution's thread or task writes goes out as `late`."""

import _thread
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
_new_lock = _thread.RLock
HAND_OVER_S = 0.1

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
        self._renew_lock()
        os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self.writing = _new_lock()
        """Held by a thread while it writes. The kernel changes descriptors and owner while none does: a thread that is between
        finding out whose its text is and writing it would write into the next execution."""

    def hand_over(self, change) -> None:
        # A thread may stand still in a pipe that is full; the next execution does not wait for it.
        writing = self.writing
        held = writing.acquire(timeout=HAND_OVER_S)
        try:
            change()
        finally:
            if held:
                writing.release()

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
        self._below = io.BufferedWriter(raw, 65536)
        super().__init__(self._below, encoding="utf-8", errors="backslashreplace", newline="\n")
        self._sandbar = (name, channel, owners)
        self._partial = 0
        self._flushed = 0.0

    def write(self, text: str) -> int:
        if execution.get() is None:
            # A thread, other than the kernel's own, which hands over.
            with self._sandbar[2].writing:
                return self._write(text)
        return self._write(text)

    def _write(self, text: str) -> int:
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

    def settle(self) -> bool:
        """Whether all that was written is out, also by whoever took the object apart."""
        return flush(self) & flush(self._below)

    def usable(self) -> bool:
        try:
            return not (self.closed or self.buffer.closed)
        except ValueError:
            # Taken apart.
            return False

    # The descriptor outlives whoever closes this object; the next execution gets a new one.
    def isatty(self) -> bool:
        return False


def flush(stream) -> bool:
    try:
        stream.flush()
        return True
    except Exception:
        return False


def _c_flush():
    try:
        from _ctypes import call_function, dlopen, dlsym

        fflush = dlsym(dlopen(None, 0), "fflush")
    except (ImportError, OSError):
        return lambda: True
    return lambda: call_function(fflush, (None,)) == 0


flush_c = _c_flush()
"""What libraries in C have printed, which to a pipe stays in their buffers; whether it is out."""
