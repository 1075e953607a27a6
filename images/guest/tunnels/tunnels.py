"""Byte streams between the daemon and something in the sandbox: a port of its loopback, or a process's terminal.

Each has a connection of its own that the guest dials, opened like a transfer's. Nobody is read faster than the other
side takes it. The end of one side ends the other, after what was on its way.
"""

import errno
import socket

from guest.io.call_error import CallError
from guest.io.loop import WRITE
from guest.io.wire_json import dumps, encode
from guest.tunnels.end import BUFFER_BYTES, READ_BYTES, End

TUNNELS = 64
CONNECT_S = 5.0
LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))

_open = set()


def open_tunnel(guest, params: dict, reply) -> None:
    if len(_open) >= TUNNELS:
        raise CallError("RATE_LIMITED", "%d connections into this session are open" % TUNNELS)
    tunnel = str(params["tunnel"])
    if params.get("process") is not None:
        process = guest.processes.get(params["process"])
        if not process.size:
            raise CallError("NOT_A_TERMINAL", "the process has no terminal; start it with pty")
        View(guest.loop, _dial(guest, tunnel), process, int(params.get("after") or 0))
        reply({})
        return

    def connected(sock: socket.socket) -> None:
        try:
            daemon = _dial(guest, tunnel)
        except CallError as error:
            sock.close()
            reply(error=str(error), code=error.code)
            return
        splice = Splice(guest.loop, daemon, sock, lambda: _open.discard(splice))
        _open.add(splice)
        reply({})

    _connect(guest.loop, int(params["port"]), list(LOOPBACK), connected,
             lambda error: reply(error=error, code="PORT_CLOSED"))


def _dial(guest, tunnel: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        sock.connect(guest.socket_path)
        # Always fits into an empty socket's buffer.
        sock.send(encode(dumps({"type": "transfer", "token": guest.token, "transfer": tunnel})) + b"\n")
    except OSError:
        sock.close()
        raise CallError("TRANSFER_FAILED", "the daemon does not take the connection") from None
    return sock


def _connect(loop, port: int, addresses: list, connected, refused) -> None:
    family, address = addresses.pop(0)

    def failed(number: int) -> None:
        if addresses and number != errno.ETIMEDOUT:
            _connect(loop, port, addresses, connected, refused)
        elif number == errno.ETIMEDOUT:
            refused("the server on port %d does not take connections" % port)
        else:
            refused("nothing listens on port %d" % port)

    try:
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    except OSError as error:
        failed(error.errno)
        return
    result = sock.connect_ex((address, port))
    if result == 0:
        connected(sock)
        return
    if result != errno.EINPROGRESS:
        sock.close()
        failed(result)
        return

    def decided(_events: int) -> None:
        loop.unwatch(sock.fileno())
        timer.cancel()
        result = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if result == 0:
            connected(sock)
        else:
            sock.close()
            failed(result)

    def overdue() -> None:
        loop.unwatch(sock.fileno())
        sock.close()
        failed(errno.ETIMEDOUT)

    timer = loop.after(CONNECT_S, overdue)
    loop.watch(sock.fileno(), decided, WRITE)


class Splice:
    def __init__(self, loop, one: socket.socket, other: socket.socket, on_closed) -> None:
        self._ends_open = 2
        self._on_closed = on_closed
        self._one = End(loop, one, lambda data: self._pass(data, self._one, self._other),
                        lambda: self._gone(self._other), lambda: self._other.read(True))
        self._other = End(loop, other, lambda data: self._pass(data, self._other, self._one),
                          lambda: self._gone(self._one), lambda: self._one.read(True))

    @staticmethod
    def _pass(data: bytes, source: End, target: End) -> None:
        target.send(data)
        if target.waiting >= BUFFER_BYTES:
            source.read(False)

    def _gone(self, remaining: End) -> None:
        self._ends_open -= 1
        if self._ends_open == 0:
            self._on_closed()
        else:
            remaining.finish()


class View:
    """A process's terminal: its ring from a position on, then everything new; and what is typed."""

    def __init__(self, loop, sock: socket.socket, process, after: int) -> None:
        _open.add(self)
        self._process = process
        self.cursor = after
        self._end = End(loop, sock, self._typed, self._gone, self._pump)
        process.watchers.add(self._pump)
        process.input.on_relief.add(self._relieved)
        process.view(self)
        self._pump()

    def _pump(self) -> None:
        process = self._process
        while self._end.waiting < BUFFER_BYTES:
            entries = process.ring.after(self.cursor, READ_BYTES)
            if not entries:
                break
            self.cursor = entries[-1][0]
            # May come back here for more; the cursor has moved.
            self._end.send(b"".join(data for _seq, _stream, data in entries))
        if process.exit is not None and self.cursor >= process.ring.last_seq:
            self._end.finish()
        elif self in process.viewers:
            process.pace()

    def _typed(self, data: bytes) -> None:
        self._process.input.write(data)
        if self._process.input.waiting >= BUFFER_BYTES:
            self._end.read(False)

    def _relieved(self) -> None:
        if self._process.exit is None:
            self._end.read(True)

    def _gone(self) -> None:
        _open.discard(self)
        self._process.watchers.discard(self._pump)
        self._process.input.on_relief.discard(self._relieved)
        self._process.view(self, leaves=True)
