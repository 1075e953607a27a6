"""One side of a tunnel."""

import socket

from guest.io.loop import READ, WRITE

BUFFER_BYTES = 256 * 1024
READ_BYTES = 64 * 1024


class End:
    """What waits to be sent to it, and whether it is read."""

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
