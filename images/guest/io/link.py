"""The connection to the daemon: dialled again and again, one JSON object a line, bounded both ways."""

import socket
from collections import deque

from guest import limits
from guest.io.loop import READ, WRITE, Loop
from guest.io.wire_json import dumps, encode, loads

FIRST_RETRY_S = 0.02
LAST_RETRY_S = 1.0
WELCOME_S = 5.0
SEND_BYTES = 256 * 1024


class Link:
    def __init__(self, loop: Loop, path: str, hello, on_welcome, on_message) -> None:
        self._loop = loop
        self._path = path
        self._hello = hello
        self._on_welcome = on_welcome
        self._on_message = on_message
        self._socket = None
        self._retry_s = FIRST_RETRY_S
        self._welcome_timer = None
        self._in = bytearray()
        self._out = deque()
        self._out_bytes = 0
        self._blocked = False
        self._soon = None
        self._late = deque()
        self._late_bytes = 0
        self.ready = False
        self.welcomes = 0
        """Who asked during an earlier one hears no answer any more."""

    def dial(self) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            sock.connect(self._path)
        except OSError:
            sock.close()
            self._redial()
            return
        self._socket = sock
        self._loop.watch(sock.fileno(), self._on_io)
        self._welcome_timer = self._loop.after(WELCOME_S, self._drop)
        self._push(encode(dumps(self._hello())) + b"\n")
        self.flush()

    def send(self, line: bytes) -> None:
        """For what is kept elsewhere until acknowledged, or may be lost with the connection."""
        if self.ready:
            self._push(line)
            if self._soon is not None:
                self._cancel_soon()

    def send_soon(self, line: bytes) -> None:
        """Like send, but worth no wake-up of its own: leaves with the next line, or a moment later."""
        if self.ready:
            alone = not self._out
            self._push(line)
            if alone and self._soon is None:
                self._soon = self._loop.after(limits.COALESCE_S, self._no_longer_soon)

    def send_late(self, line: bytes) -> None:
        """Waits for a connection, within a small bound; the oldest goes first."""
        if self.ready:
            if self._out_bytes < limits.UNACKED_BYTES:
                self.send(line)
            return
        self._late.append(line)
        self._late_bytes += len(line)
        while self._late_bytes > limits.LATE_BYTES_QUEUED:
            self._late_bytes -= len(self._late.popleft())

    def flush(self) -> None:
        if self._soon is not None:
            return
        while self._out and not self._blocked and self._socket is not None:
            if len(self._out) == 1:
                chunk = self._out.popleft()
            else:
                pieces, size = [], 0
                while self._out and size < SEND_BYTES:
                    size += len(self._out[0])
                    pieces.append(self._out.popleft())
                chunk = b"".join(pieces)
            try:
                sent = self._socket.send(chunk)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self._drop()
                return
            self._out_bytes -= sent
            if sent < len(chunk):
                self._out.appendleft(memoryview(chunk)[sent:])
                self._blocked = True
                self._loop.watch(self._socket.fileno(), self._on_io, READ | WRITE)

    def _no_longer_soon(self) -> None:
        self._soon = None

    def _cancel_soon(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def _push(self, line: bytes) -> None:
        self._out.append(line)
        self._out_bytes += len(line)

    def _on_io(self, events: int) -> None:
        if events & WRITE:
            self._blocked = False
            self._loop.watch(self._socket.fileno(), self._on_io)
            self.flush()
        if events & ~WRITE and self._socket is not None:
            self._receive()

    def _receive(self) -> None:
        sock = self._socket
        try:
            data = sock.recv(64 * 1024)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._drop()
            return
        buffer = self._in
        if not buffer and data.endswith(b"\n"):
            lines = data.split(b"\n")
            lines.pop()
        else:
            searched = len(buffer)
            buffer += data
            end = buffer.rfind(b"\n", searched)
            if end < 0:
                if len(buffer) > limits.LINE_BYTES:
                    self._drop()
                return
            lines = bytes(buffer[:end]).split(b"\n")
            del buffer[: end + 1]
        for line in lines:
            if self._socket is not sock:
                return
            try:
                message = loads(line)
                kind = message["type"]
            except (ValueError, KeyError, TypeError):
                continue
            if self.ready:
                self._on_message(kind, message)
            elif kind == "welcome":
                self._welcome(message)

    def _welcome(self, message: dict) -> None:
        self._welcome_timer.cancel()
        self._retry_s = FIRST_RETRY_S
        self.ready = True
        self.welcomes += 1
        self._on_welcome(message)
        while self._late:
            self._push(self._late.popleft())
        self._late_bytes = 0

    def _drop(self) -> None:
        if self._socket is None:
            return
        self._loop.unwatch(self._socket.fileno())
        self._socket.close()
        self._socket = None
        self.ready = False
        self._blocked = False
        self._welcome_timer.cancel()
        self._cancel_soon()
        self._in.clear()
        self._out.clear()
        self._out_bytes = 0
        self._redial()

    def _redial(self) -> None:
        self._loop.after(self._retry_s, self.dial)
        self._retry_s = min(LAST_RETRY_S, self._retry_s * 2)
