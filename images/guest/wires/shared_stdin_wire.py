"""How Node is reached."""

import os
import socket

from guest.io.wire_json import dumps, encode
from guest.wires.memory_file import memory_file, write_all
from guest.wires.named_pipes import NamedPipes
from guest.wires.passed_pipes_wire import PassedPipesWire
from guest.wires.request import run_message
from guest.wires.ticket import Ticket


class SharedStdinWire(PassedPipesWire):
    """For Node, which cannot be passed descriptors: it opens named pipes, and puts them in place of 1 and 2 if its image has
    what that takes. Otherwise it keeps the pipes that it was born with.

    Its descriptor 0 is a file in memory whose position guest and kernel share, so each execution finds its own stdin there.
    On 4 it reads which execution, counted from the kernel's start, is to be interrupted.
    """

    fresh_pipes = False
    # Node's `vm` leaves SIGINT to the system for a moment, before it begins to watch for it.
    uninterruptible_s = 0.1

    def __init__(self) -> None:
        self._stdin = memory_file("")
        self._alarm = self._alarm_r = -1
        self._runs = self._interrupts = 0
        self._named = NamedPipes()

    def control(self):
        self.fresh_pipes = False
        self._close_alarm()
        self._alarm_r, self._alarm = os.pipe()
        os.set_blocking(self._alarm, False)
        self._runs = self._interrupts = 0
        return socket.socketpair()

    def inherit(self) -> "dict[int, int]":
        return {0: self._stdin, 4: self._alarm_r}

    def ready(self, message: dict) -> None:
        self.fresh_pipes = message.get("fresh_pipes") is True

    def say(self, kernel, message: dict) -> None:
        kernel.send(encode(dumps(message)) + b"\n")

    def go(self, kernel, ticket: Ticket) -> None:
        self.say(kernel, {"op": "go"})

    def begin(self, kernel, execution, ticket: Ticket) -> "tuple[int, int]":
        stdin = execution.request.get("stdin")
        os.ftruncate(self._stdin, 0)
        if stdin is not None:
            write_all(self._stdin, encode(stdin))
        os.lseek(self._stdin, 0, os.SEEK_SET)
        message = run_message(execution, ticket)
        message["stdin_given"] = stdin is not None
        message["interrupts"] = self._interrupts
        self._runs += 1
        pipes = kernel.stdout, kernel.stderr
        if self.fresh_pipes:
            message["pipes"], *pipes = self._named.make()
        self._hand_over(kernel, message, ticket)
        return tuple(pipes)

    def _hand_over(self, kernel, message: dict, ticket: Ticket) -> None:
        # Out of reach for code, in the kernel's closures.
        self.say(kernel, {**message, "token": ticket.token})

    def ended(self) -> None:
        self._named.forget()

    def interrupted(self) -> None:
        self._interrupts += 1
        try:
            os.write(self._alarm, b"%d\n" % self._runs)
        except OSError:
            pass

    def close(self) -> None:
        self._close_alarm()
        os.close(self._stdin)
        self._named.close()

    def _close_alarm(self) -> None:
        for fd in (self._alarm, self._alarm_r):
            if fd >= 0:
                os.close(fd)
        self._alarm = self._alarm_r = -1
