"""Byte streams between the daemon and something in the sandbox: a port of its loopback, or a command's terminal.

Each has a connection of its own that the guest dials, opened like a transfer's. Nobody is read faster than the other
side takes it. The end of one side ends the other, after what was on its way.
"""

import errno
import socket

from calls import CallError
from loop import READ, WRITE
from wire_json import dumps, encode

BUFFER_BYTES = 256 * 1024
READ_BYTES = 64 * 1024
TUNNELS = 64
CONNECT_S = 5.0
LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))

_open = set()


def open_tunnel(guest, params: dict, reply) -> None:
    if len(_open) >= TUNNELS:
        raise CallError("RATE_LIMITED", "%d connections into this session are open" % TUNNELS)
    tunnel = str(params["tunnel"])
    if params.get("process") is not None:
        command = guest.commands.get(params["process"])
        if not command.size:
            raise CallError("NOT_A_TERMINAL", "the process has no terminal; start it with pty")
        View(guest.loop, _dial(guest, tunnel), command, int(params.get("after") or 0))
        reply({})
        return

    def connected(sock: socket.socket) -> None:
        try:
            daemon = _dial(guest, tunnel)
        except CallError as error:
            sock.close()
            reply(error=str(error), code=error.code)
            return
        Splice(guest.loop, daemon, sock)
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


class End:
    """One side of a tunnel: what waits to be sent to it, and whether it is read."""

    def __init__(self, loop, sock: socket.socket, on_data, on_gone, on_relief) -> None:
        self._loop = loop
        self._sock = sock
        self._out = bytearray()
        self._on_data = on_data
        self._on_gone = on_gone
        self._on_relief = on_relief
        self._reading = True
        self._last = False
        self._deaf = False
        self._tcp = sock.family != socket.AF_UNIX
        if self._tcp:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._acknowledge()
        self.watch()

    @property
    def waiting(self) -> int:
        return len(self._out)

    def read(self, reading: bool) -> None:
        if reading != self._reading:
            self._reading = reading
            self.watch()

    def send(self, data) -> None:
        if self._sock is None or self._deaf:
            return
        self._out += data
        self._flush()

    def finish(self) -> None:
        """Closes once everything has been sent. The daemon closes first: cut while it sends, it would not read the rest."""
        if self._sock is None:
            return
        self._last = True
        self.read(not self._tcp)
        if not self._out:
            self._finished()

    def _finished(self) -> None:
        if self._tcp:
            self.close()
            return
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()

    def close(self) -> None:
        if self._sock is not None:
            self._loop.unwatch(self._sock.fileno())
            self._sock.close()
            self._sock = None
            self._on_gone()

    def watch(self) -> None:
        if self._sock is None:
            return
        events = (READ if self._reading else 0) | (WRITE if self._out else 0)
        if events:
            self._loop.watch(self._sock.fileno(), self._on_io, events)
        else:
            self._loop.unwatch(self._sock.fileno())

    def _flush(self) -> None:
        try:
            sent = self._sock.send(self._out)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._hears_no_more()
            return
        del self._out[:sent]
        self.watch()
        if self._last and not self._out:
            self._finished()
            return
        if self.waiting < BUFFER_BYTES:
            self._on_relief()

    def _hears_no_more(self) -> None:
        """A server that has answered and gone without reading everything: its answer may still be on its way."""
        if self._last or not self._tcp:
            self.close()
            return
        self._deaf = True
        self._out.clear()
        self.watch()
        self._on_relief()

    def _acknowledge(self) -> None:
        """At once: a server that writes its answer in two pieces waits 40 ms for it otherwise. Holds only for a while."""
        if self._tcp:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def _on_io(self, events: int) -> None:
        if events & WRITE and self._out:
            self._flush()
        if self._sock is None or not events & ~WRITE:
            return
        if not self._reading:
            # Hung up while nobody reads: nothing can be sent there any more.
            self._hears_no_more()
            return
        try:
            data = self._sock.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        elif not self._last:
            self._acknowledge()
            self._on_data(data)


class Splice:
    def __init__(self, loop, one: socket.socket, other: socket.socket) -> None:
        _open.add(self)
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
        _open.discard(self)
        remaining.finish()


class View:
    """A command's terminal: its ring from a position on, then everything new; and what is typed."""

    def __init__(self, loop, sock: socket.socket, command, after: int) -> None:
        _open.add(self)
        self._command = command
        self.cursor = after
        self._end = End(loop, sock, self._typed, self._gone, self._pump)
        command.watchers.add(self._pump)
        command.input.on_relief.add(self._relieved)
        command.view(self)
        self._pump()

    def _pump(self) -> None:
        command = self._command
        while self._end.waiting < BUFFER_BYTES:
            entries = command.ring.after(self.cursor, READ_BYTES)
            if not entries:
                break
            self.cursor = entries[-1][0]
            # May come back here for more; the cursor has moved.
            self._end.send(b"".join(data for _seq, _stream, data in entries))
        if command.exit is not None and self.cursor >= command.ring.last_seq:
            self._end.finish()
        elif self in command.viewers:
            command.pace()

    def _typed(self, data: bytes) -> None:
        self._command.input.write(data)
        if self._command.input.waiting >= BUFFER_BYTES:
            self._end.read(False)

    def _relieved(self) -> None:
        if self._command.exit is None:
            self._end.read(True)

    def _gone(self) -> None:
        _open.discard(self)
        self._command.watchers.discard(self._pump)
        self._command.input.on_relief.discard(self._relieved)
        self._command.view(self, leaves=True)
