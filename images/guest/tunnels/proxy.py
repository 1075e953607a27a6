"""The way out of a sandbox without a network: a port on its loopback whose connections the daemon answers as a proxy.

What passes is not looked at here. The daemon decides, since code in the sandbox shares this kernel and not that one.
"""

import socket

from guest import limits
from guest.io.loop import READ
from guest.io.wire_json import dumps, encode
from guest.tunnels.tunnels import Splice

WAITING = 128


class Proxy:
    def __init__(self, guest) -> None:
        self._guest = guest
        self._loop = guest.loop
        self._open = 0
        self._listener = None

    def listen(self) -> None:
        """Before any code of the session runs, so that the port is ours."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", limits.PROXY_PORT))
            listener.listen(WAITING)
        except OSError:
            listener.close()
            return
        self._listener = listener
        self._accept(True)

    def _accept(self, accepting: bool) -> None:
        """Beyond the limit they wait in the kernel's queue."""
        if accepting:
            self._loop.watch(self._listener.fileno(), self._on_client, READ)
        else:
            self._loop.unwatch(self._listener.fileno())

    def _on_client(self, _events: int) -> None:
        try:
            client, _address = self._listener.accept()
        except OSError:
            return
        client.setblocking(False)
        daemon = self._dial()
        if daemon is None:
            client.close()
            return
        self._open += 1
        if self._open >= limits.PROXIED:
            self._accept(False)
        Splice(self._loop, daemon, client, self._on_closed)

    def _on_closed(self) -> None:
        self._open -= 1
        if self._open == limits.PROXIED - 1:
            self._accept(True)

    def _dial(self) -> "socket.socket | None":
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            daemon.connect(self._guest.socket_path)
            # Always fits into an empty socket's buffer.
            daemon.send(encode(dumps({"type": "proxy", "token": self._guest.token or ""})) + b"\n")
        except OSError:
            daemon.close()
            return None
        return daemon
