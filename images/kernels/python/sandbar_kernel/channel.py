"""The control socket: JSON both ways, descriptors with requests. Built from C functions that user code cannot patch.

Behind each request to run code lies a token, and only who shows it ends the execution. It is read when the code has come to its end:
until then it is nowhere in this process.
"""

import _socket
from array import array as _array
import errno
import fcntl
import json.decoder
import json.scanner
import os
import threading

from .wire_json import dumps

_CONTROL_FD = 3
_HIGH_FD = 900
_exit = os._exit
_getpid = os.getpid
_fcntl = fcntl.fcntl
_F_DUPFD_CLOEXEC = fcntl.F_DUPFD_CLOEXEC
_close = os.close
_scan = (json.scanner.c_make_scanner or json.scanner.py_make_scanner)(json.decoder.JSONDecoder())
_CLOEXEC = _socket.MSG_CMSG_CLOEXEC
_PEEK = _socket.MSG_PEEK
_LENGTH = 10
_TOKEN = 16


def above_stdio(fd: int) -> int:
    """User code that closed 0, 1 or 2 makes room for new descriptors there, where dup2 would clobber them."""
    if fd > 2:
        return fd
    moved = _fcntl(fd, _F_DUPFD_CLOEXEC, 10)
    _close(fd)
    return moved


class Channel:
    def __init__(self) -> None:
        try:
            high = fcntl.fcntl(_CONTROL_FD, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EMFILE):
                raise
            high = fcntl.fcntl(_CONTROL_FD, fcntl.F_DUPFD_CLOEXEC, 50)
        _close(_CONTROL_FD)
        self._socket = _socket.socket(fileno=high)
        self._socket.setblocking(True)
        self._send = self._socket.sendall
        self._receive = self._socket.recvmsg
        self._peek = self._socket.recv
        self._ahead = b""
        self._running = False
        self._fds = []
        self._lock = threading.RLock()
        self._pid = _getpid()
        self._ancillary = _socket.CMSG_SPACE(12)
        # Whoever forks must not leave it to others.
        os.register_at_fork(after_in_child=self._socket.close)
        self.sending = 0
        """Not 0: an interrupt has to wait, or half a line would be on the wire."""

    def fileno(self) -> int:
        return self._socket.fileno()

    def ours(self) -> bool:
        """False in a process that user code forked: it must not speak."""
        return _getpid() == self._pid

    def send(self, message: dict) -> None:
        self.send_line(dumps(message))

    def send_line(self, line: bytes) -> None:
        if _getpid() != self._pid:
            return
        with self._lock:
            self.sending += 1
            try:
                self._send(line + b"\n")
            except OSError:
                # User code closed the socket: nobody can speak to this kernel any more.
                _exit(70)
            finally:
                self.sending -= 1

    def send_line_and_wait(self, line: bytes) -> None:
        """Until the guest has taken the line and the output before it; it then repeats the token."""
        if _getpid() != self._pid:
            return
        with self._lock:
            if not self._running:
                # A thread that was overtaken by the end of its execution.
                return
            self.sending += 1
            try:
                self._token()
                self.send_line(line)
                if not self._ahead and not self._peek(1, _PEEK):
                    _exit(0)
            except OSError:
                _exit(70)
            finally:
                self.sending -= 1

    def wait(self) -> None:
        """Until there is something to receive."""
        while not self._ahead:
            try:
                if not self._peek(1, _PEEK):
                    _exit(0)
                return
            except InterruptedError:
                continue
            except OSError:
                _exit(70)

    def end(self, *messages: dict) -> None:
        """The last that is said of an execution."""
        with self._lock:
            token = self._token()
            self._running = False
            self.send_line(b"\n".join(dumps({**message, "token": token}) for message in messages))

    def receive(self) -> "tuple[dict, list[int]]":
        """Descriptors that do not come although they are announced found no room."""
        message = _scan(self._read(int(self._read(_LENGTH))).decode(), 0)[0]
        wanted = message.get("fds", 0)
        fds, self._fds = self._fds[:wanted], self._fds[wanted:]
        self._running = message["op"] == "run"
        return message, fds

    def _token(self) -> str:
        data = self._read(_TOKEN)
        if data.startswith(b"t"):
            return data.decode()
        # User code has taken it, and ended its execution: this is the beginning of the next request.
        self._ahead = data
        return ""

    def _read(self, size: int) -> bytes:
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        while len(data) < size:
            try:
                more, ancillary, _flags, _address = self._receive(size - len(data), self._ancillary, _CLOEXEC)
            except InterruptedError:
                continue
            except OSError:
                _exit(70)
            if not more:
                _exit(0)
            for level, kind, payload in ancillary:
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                    numbers = _array("i")
                    numbers.frombytes(payload[: len(payload) - len(payload) % numbers.itemsize])
                    self._fds.extend(above_stdio(fd) for fd in numbers)
            data += more
        return data
