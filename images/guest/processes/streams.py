"""What a process writes, from its descriptor into its ring; and what is written to it, as fast as it reads."""

import os
import time
from collections import deque

from guest import limits
from guest.io.loop import WRITE, Loop
from guest.processes.ring import ENTRY_BYTES, Ring, whole_characters

READ_BYTES = 64 * 1024
CUT_CHARACTER_S = 0.05
"""A character whose rest does not come in this time was none."""
WINDOW_S = 0.01
WINDOW_BYTES = 256 * 1024
"""At most so much is read in one window: a flood may cost the guest only part of its time."""
DRAIN_READS = 32
INPUT_BYTES = 1024 * 1024


class Output:
    def __init__(self, loop: Loop, fd: int, stream: str, ring: Ring, on_entry) -> None:
        self._loop = loop
        self._fd = fd
        self._stream = stream
        self._ring = ring
        self._on_entry = on_entry
        self._pending = bytearray()
        self._timer = None
        self._flushed_at = 0.0
        self._window = (0.0, 0)
        self._held = False
        self._resting = False
        self._discarding = False
        loop.watch(fd, self._on_readable)

    @property
    def open(self) -> bool:
        return self._fd >= 0

    def hold(self, held: bool) -> None:
        if held != self._held:
            self._held = held
            self._watch()

    def drain(self) -> None:
        """The process has ended: what it still had written, then nothing more, whoever holds the other end."""
        for _ in range(DRAIN_READS):
            if not self.open or not self._read():
                break
        self._flush(final=True)
        self._discarding = True
        self.hold(False)

    def close(self) -> None:
        if self.open:
            self._loop.unwatch(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _watch(self) -> None:
        if not self.open:
            return
        if self._held or self._resting:
            self._loop.unwatch(self._fd)
        else:
            self._loop.watch(self._fd, self._on_readable)

    def _on_readable(self, _events: int) -> None:
        self._read()

    def _read(self) -> bool:
        try:
            data = os.read(self._fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            # EIO: the last process has closed the terminal.
            data = b""
        if not data:
            self.close()
            self._flush(final=True)
            return False
        self._rest_after(len(data))
        if not self._discarding:
            self._pending += data
            now = time.monotonic()
            if len(self._pending) >= ENTRY_BYTES or now - self._flushed_at > limits.COALESCE_S:
                self._flush()
            elif self._timer is None:
                self._timer = self._loop.after(limits.COALESCE_S, self._flush)
        return True

    def _rest_after(self, count: int) -> None:
        start, so_far = self._window
        now = time.monotonic()
        if now - start > WINDOW_S:
            start, so_far = now, 0
        self._window = (start, so_far + count)
        if so_far + count > WINDOW_BYTES and not self._resting:
            self._resting = True
            self._watch()
            self._loop.after(WINDOW_S, self._rested)

    def _rested(self) -> None:
        self._resting = False
        self._watch()

    def _flush(self, final: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flushed_at = time.monotonic()
        pending = self._pending
        while pending:
            end = min(len(pending), ENTRY_BYTES)
            whole = whole_characters(pending, end)
            if whole == 0:
                if not final:
                    self._timer = self._loop.after(CUT_CHARACTER_S, lambda: self._flush(final=True))
                    return
                whole = end
            elif whole < end and end == len(pending) and final:
                whole = end
            self._ring.append(self._stream, bytes(pending[:whole]))
            del pending[:whole]
            self._on_entry()


class Input:
    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop = loop
        self._fd = fd
        self._pending = deque()
        self._eof = False
        self.waiting = 0
        self.on_relief = set()
        """Called when everything has been taken."""

    @property
    def open(self) -> bool:
        return self._fd >= 0 and not self._eof

    def has_room(self, size: int) -> bool:
        return self.waiting + size <= INPUT_BYTES

    def write(self, data: bytes) -> None:
        if self._fd >= 0 and data:
            self._pending.append(memoryview(data))
            self.waiting += len(data)
            self._pump()

    def end(self) -> None:
        self._eof = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        self._pending.clear()
        self.waiting = 0
        if self._fd >= 0:
            self._loop.unwatch(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._relieved()

    def _pump(self, _events: int = 0) -> None:
        while self._pending:
            try:
                sent = os.write(self._fd, self._pending[0])
            except (BlockingIOError, InterruptedError):
                self._loop.watch(self._fd, self._pump, WRITE)
                return
            except OSError:
                self.close()
                return
            self.waiting -= sent
            if sent < len(self._pending[0]):
                self._pending[0] = self._pending[0][sent:]
            else:
                self._pending.popleft()
        self._loop.unwatch(self._fd)
        if self._eof:
            self.close()
        else:
            self._relieved()

    def _relieved(self) -> None:
        for action in list(self.on_relief):
            action()
