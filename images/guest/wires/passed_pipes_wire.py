"""How a run request and its output pipes reach a kernel, for Python; the other languages get what they can take.

Fresh pipes for each execution keep a process that an earlier one left behind from writing into a later one.
"""

import os
import socket

from guest.io.wire_json import dumps, encode
from guest.wires.memory_file import memory_file
from guest.wires.request import prefixed, run_message
from guest.wires.ticket import Ticket


class PassedPipesWire:
    """New pipes by SCM_RIGHTS, stdin as a file in memory. Requests have their length in front, so that a kernel reads no further:
    the token that ends the execution lies behind its request, and once more after each result that the kernel waits with.
    """

    fresh_pipes = True
    repeat_interrupt_s = 0.0
    uninterruptible_s = 0.0
    """So long after it was given code an interrupt may end the kernel itself."""

    def control(self):
        """Our end of the control channel, and the one that becomes the kernel's descriptor 3."""
        return socket.socketpair()

    def inherit(self) -> "dict[int, int]":
        """Descriptors beyond the usual ones that the kernel is born with."""
        return {}

    def ready(self, message: dict) -> None:
        """What the kernel says of itself when it can take code."""

    def interrupted(self) -> None:
        """What an interrupt needs beside the signal."""

    def close(self) -> None:
        pass

    def say(self, kernel, message: dict) -> None:
        kernel.send(prefixed(encode(dumps(message))))

    def go(self, kernel, ticket: Ticket) -> None:
        """A result has been taken that the kernel waits with."""
        kernel.send(ticket.token.encode())

    def begin(self, kernel, execution, ticket: Ticket) -> "tuple[int, int]":
        stdin = execution.request.get("stdin")
        given = [] if stdin is None else [memory_file(stdin)]
        stdout, out_w = os.pipe()
        stderr, err_w = os.pipe()
        fds = [out_w, err_w, *given]
        message = run_message(execution, ticket)
        message["fds"] = len(fds)
        kernel.send(prefixed(encode(dumps(message))) + ticket.token.encode(), tuple(fds))
        for fd in fds:
            os.close(fd)
        return stdout, stderr

    def ended(self) -> None:
        pass
