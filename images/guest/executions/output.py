"""From bytes in a pipe to text events: incremental UTF-8, bounded, coalesced; or to `late` when nobody owns them."""

import codecs
import os
import time
from collections import deque

from guest import limits
from guest.executions.journal import Execution, Journal
from guest.io.loop import Loop
from guest.io.wire_json import dumps, encode

READ_BYTES = 64 * 1024
DRAIN_READS = 16
"""What lay in the pipe when `done` came; a process that writes for ever must not hold it up."""

RECENT_READS = 16

_decoder = codecs.getincrementaldecoder("utf-8")


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class StreamText:
    """One stream of one execution."""

    late = False
    __slots__ = ("_journal", "_execution", "_name", "_decode", "_parts", "_pending", "_left", "recent", "total")

    def __init__(self, journal: Journal, execution: Execution, name: str) -> None:
        self._journal = journal
        self._execution = execution
        self._name = name
        self._decode = _decoder("replace").decode
        self._parts = []
        self._pending = 0
        self._left = int(execution.request.get("stream_limit", 4 * 1024 * 1024))
        self.recent = deque(maxlen=RECENT_READS)
        """The last of what came, whether there was room for it or not."""
        self.total = 0

    def feed(self, data: bytes) -> None:
        self._take(self._decode(data))
        if self._pending >= limits.EVENT_TEXT:
            self.flush()

    def finish(self) -> None:
        self._take(self._decode(b"", True))
        self.flush()

    def flush(self) -> None:
        if not self._pending:
            return
        text = self._parts[0] if len(self._parts) == 1 else "".join(self._parts)
        self._parts = []
        self._pending = 0
        step = limits.EVENT_TEXT if text.isascii() else limits.EVENT_TEXT // 2
        for start in range(0, len(text), step):
            self._journal.text(self._execution, self._name, text[start : start + step])

    def _take(self, text: str) -> None:
        if not text:
            return
        self.recent.append(text)
        self.total += utf16_length(text)
        if self._left <= 0:
            return
        size = len(text) if text.isascii() else len(text.encode())
        if size > self._left:
            text = text.encode()[: self._left].decode("utf-8", "ignore")
        self._left -= size
        if text:
            self._parts.append(text)
            self._pending += len(text)


class LateText:
    """Output that came after its execution ended, or outside any: worth a look, not worth a flood."""

    __slots__ = ("_send", "_context", "_name", "_decode", "_budget", "_since", "recent")
    late = True

    def __init__(self, send, context: str, name: str) -> None:
        self._budget = float(limits.LATE_BURST)
        self._since = time.monotonic()
        self._send = send
        self._context = context
        self._name = name
        self._decode = _decoder("replace").decode
        self.recent = deque(maxlen=RECENT_READS)

    def feed(self, data: bytes) -> None:
        self.text(self._decode(data))

    def text(self, text: str) -> None:
        self.recent.append(text)
        now = time.monotonic()
        self._budget = min(limits.LATE_BURST, self._budget + (now - self._since) * limits.LATE_PER_S)
        self._since = now
        text = text[: int(self._budget)]
        self._budget -= len(text)
        for start in range(0, len(text), limits.EVENT_TEXT):
            piece = text[start : start + limits.EVENT_TEXT]
            message = {"type": "late", "context": self._context, "stream": self._name, "text": piece}
            self._send(encode(dumps(message)) + b"\n")

    def flush(self) -> None:
        pass


class Pipe:
    """The read end of a stream. Its sink changes when the execution that it belongs to ends."""

    __slots__ = ("_loop", "_journal", "fd", "_sink", "_resting", "_held", "_on_full")

    def __init__(self, loop: Loop, journal: Journal, fd: int, sink, on_full) -> None:
        os.set_blocking(fd, False)
        self._loop = loop
        self._journal = journal
        self.fd = fd
        self._sink = sink
        self._on_full = on_full
        self._resting = None
        self._held = False
        loop.watch(fd, self._on_ready)

    @property
    def sink(self):
        return self._sink

    @sink.setter
    def sink(self, sink) -> None:
        self._sink = sink
        # The rest that late output takes is too long for an execution's.
        if self._resting is not None and not sink.late:
            self._resting.cancel()
            self._resting = None
            if self.fd >= 0 and not self._held:
                self._loop.watch(self.fd, self._on_ready)

    def drain(self) -> int:
        total = 0
        for _ in range(DRAIN_READS):
            if self.fd < 0:
                break
            size = self._read()
            total += max(size, 0)
            if size < READ_BYTES:
                break
        return total

    def hold(self) -> None:
        """Back-pressure: the writer fills the pipe and waits."""
        self._held = True
        if self.fd >= 0:
            self._loop.unwatch(self.fd)

    def release(self) -> None:
        self._held = False
        if self.fd >= 0 and self._resting is None:
            self._loop.watch(self.fd, self._on_ready)

    def close(self) -> None:
        if self.fd >= 0:
            self._loop.unwatch(self.fd)
            os.close(self.fd)
            self.fd = -1
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None

    def _on_ready(self, _events: int) -> None:
        self._rest_after(self._read())
        self._check_full()

    def _after_rest(self) -> None:
        self._resting = None
        if self._held or self.fd < 0:
            return
        more = self._read() if self._sink.late else self.drain()
        self._sink.flush()
        if self.fd >= 0 and not self._rest_after(more or -1):
            self._loop.watch(self.fd, self._on_ready)
        self._check_full()

    def _rest_after(self, size: int) -> bool:
        """Trickling output rests a moment so that it leaves as few events; a flood is read as fast as it comes, unless it is late."""
        if self.fd < 0 or size < 0 or (size >= READ_BYTES // 2 and not self._sink.late):
            return False
        self._loop.unwatch(self.fd)
        self._resting = self._loop.after(limits.LATE_REST_S if self._sink.late else limits.COALESCE_S, self._after_rest)
        return True

    def _check_full(self) -> None:
        if self._journal.full and not self._held:
            self._on_full()

    def _read(self) -> int:
        try:
            data = os.read(self.fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return -1
        except OSError:
            data = b""
        if not data:
            self._sink.flush()
            self.close()
            return 0
        self._sink.feed(data)
        return len(data)
