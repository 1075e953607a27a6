"""One kernel process: its own session, /dev/null as stdin, pipes on 1 and 2, and a control socket on 3."""

import array
import os
import socket
from collections import deque

from guest import limits
from guest.io.loop import READ, WRITE, Loop
from guest.io.wire_json import loads
from guest.system.reaper import Reaper


class Kernel:
    def __init__(self, loop: Loop, reaper: Reaper, launch, control, inherit: "dict[int, int]", on_message, on_exit, on_hangup) -> None:
        """`launch` starts the process with the descriptors that it is given, by number, and tells its pid."""
        self._loop = loop
        self._on_message = on_message
        self._on_hangup = on_hangup
        self._in = bytearray()
        self._out = deque()
        self._held = False
        self.ready = False
        """Said hello."""
        self.killed = False
        """By us, so the signal is no news."""
        self.alive = True
        self.socket, theirs = control
        stdout, out_w = os.pipe()
        stderr, err_w = os.pipe()
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        try:
            self.pid = launch({0: null, 1: out_w, 2: err_w, 3: theirs.fileno(), **inherit})
        except BaseException:
            for fd in (stdout, stderr):
                os.close(fd)
            self.socket.close()
            raise
        finally:
            theirs.close()
            for fd in (out_w, err_w, null):
                os.close(fd)
        self.stdout, self.stderr = stdout, stderr
        reaper.expect(self.pid, on_exit)
        self.socket.setblocking(False)
        loop.watch(self.socket.fileno(), self._on_io)

    def send(self, data: bytes, fds: "tuple[int, ...]" = ()) -> None:
        """The descriptors travel with the first byte; the caller may close its copies afterwards."""
        if self._out:
            self._out.append((data, tuple(os.dup(fd) for fd in fds)))
            return
        sent = self._send_some(data, fds)
        if sent < len(data):
            rest = tuple(os.dup(fd) for fd in fds) if sent == 0 else ()
            self._out.append((memoryview(data)[sent:], rest))
            self._watch()

    def hold(self) -> None:
        self._held = True
        self._watch()

    def release(self) -> None:
        self._held = False
        self._watch()

    def drain(self) -> None:
        """After the process has ended: what it still had said."""
        while self.socket.fileno() >= 0 and self._receive():
            pass

    def close(self) -> None:
        self.alive = False
        if self.socket.fileno() >= 0:
            self._loop.unwatch(self.socket.fileno())
            self.socket.close()
        while self._out:
            for fd in self._out.popleft()[1]:
                os.close(fd)

    def _send_some(self, data, fds: "tuple[int, ...]") -> int:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            return self.socket.sendmsg([data], ancillary)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            return len(data)

    def _watch(self) -> None:
        fd = self.socket.fileno()
        if fd < 0:
            return
        events = (0 if self._held else READ) | (WRITE if self._out else 0)
        if events:
            self._loop.watch(fd, self._on_io, events)
        else:
            self._loop.unwatch(fd)

    def _on_io(self, events: int) -> None:
        if events & WRITE:
            while self._out:
                data, fds = self._out[0]
                sent = self._send_some(data, fds)
                if sent:
                    for fd in fds:
                        os.close(fd)
                    fds = ()
                if sent < len(data):
                    self._out[0] = (memoryview(data)[sent:], fds)
                    break
                self._out.popleft()
            self._watch()
        if events & ~WRITE and self.socket.fileno() >= 0:
            self._receive()

    def _receive(self) -> bool:
        try:
            data = self.socket.recv(64 * 1024)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.unwatch(self.socket.fileno())
            self.socket.close()
            self._on_hangup()
            return False
        buffer = self._in
        searched = len(buffer)
        buffer += data
        end = buffer.rfind(b"\n", searched)
        if end < 0:
            if len(buffer) > limits.KERNEL_LINE_BYTES:
                self._loop.unwatch(self.socket.fileno())
                self.socket.close()
                self._on_hangup()
            return True
        lines = bytes(buffer[:end]).split(b"\n")
        del buffer[: end + 1]
        for line in lines:
            try:
                message = loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self._on_message(message)
        return True
