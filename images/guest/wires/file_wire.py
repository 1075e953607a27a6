"""How R is reached."""

import os

from guest.io.wire_json import dumps, encode
from guest.wires.memory_file import memory_file, write_all
from guest.wires.shared_stdin_wire import SharedStdinWire
from guest.wires.ticket import Ticket


class FileWire(SharedStdinWire):
    """For R, which cannot use a socket by descriptor: a request lies in a file in memory (5), a byte on a pipe (4) announces it,
    answers come on a pipe (3). One request at a time, which is how kernels are spoken to anyway. The file's first line has
    an execution's name and token, which the kernel reads at its end.
    """

    # R's system() ignores SIGINT while its child dies of it, and would go on with the next expression.
    repeat_interrupt_s = 0.1
    uninterruptible_s = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._request = memory_file("")
        self._poke = self._poke_r = -1

    def control(self):
        self.fresh_pipes = False
        self._close_poke()
        answers, answers_w = os.pipe()
        self._poke_r, self._poke = os.pipe()
        os.set_blocking(self._poke, False)
        return _PipeEnds(answers, self._post), _PipeEnds(answers_w, None)

    def inherit(self) -> "dict[int, int]":
        return {0: self._stdin, 4: self._poke_r, 5: self._request}

    def interrupted(self) -> None:
        pass

    def say(self, kernel, message: dict) -> None:
        kernel.send(b"\n" + encode(dumps(message)))

    def go(self, kernel, ticket: Ticket) -> None:
        os.write(self._poke, b"!")

    def _hand_over(self, kernel, message: dict, ticket: Ticket) -> None:
        kernel.send(("%s %s\n" % (ticket.name, ticket.token)).encode() + encode(dumps(message)))

    def close(self) -> None:
        super().close()
        self._close_poke()
        os.close(self._request)

    def _post(self, data: bytes) -> None:
        os.ftruncate(self._request, 0)
        write_all(self._request, data)
        os.write(self._poke, b"!")

    def _close_poke(self) -> None:
        for fd in (self._poke, self._poke_r):
            if fd >= 0:
                os.close(fd)
        self._poke = self._poke_r = -1


class _PipeEnds:
    """As much of a socket as a kernel's control channel uses."""

    def __init__(self, fd: int, post) -> None:
        self._fd = fd
        self._post = post

    def fileno(self) -> int:
        return self._fd

    def setblocking(self, flag: bool) -> None:
        os.set_blocking(self._fd, flag)

    def recv(self, size: int) -> bytes:
        return os.read(self._fd, size)

    def sendmsg(self, buffers, _ancillary) -> int:
        self._post(bytes(buffers[0]))
        return len(buffers[0])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
