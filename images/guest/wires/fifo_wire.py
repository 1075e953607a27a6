"""How bash is reached."""

import os
import re

from guest.io.wire_json import encode
from guest.wires.named_pipes import NamedPipes
from guest.wires.passed_pipes_wire import PassedPipesWire
from guest.wires.request import code_of, prefixed
from guest.wires.ticket import Ticket


_QUESTIONS = {
    "complete": ("?", "ask", "kind", "word", "file"),
    "dump": (">", "ask", "data", "report"),
    "load": ("<", "ask", "data", "report"),
}


class FifoWire(PassedPipesWire):
    """For bash: requests as length-prefixed ASCII, output through named pipes.

    Text travels as `printf %b` escapes in plain ASCII, so neither quoting nor the shell's locale can change it.
    """

    def __init__(self) -> None:
        self._named = NamedPipes()

    def begin(self, kernel, execution, ticket: Ticket) -> "tuple[int, int]":
        stem, stdout, stderr = self._named.make()
        request = execution.request
        stdin = request.get("stdin")
        if stdin is not None:
            try:
                with open(stem + ".in", "wb") as file:
                    file.write(encode(stdin))
            except OSError:
                os.close(stdout)
                os.close(stderr)
                raise
        env = [name for pair in request.get("env", {}).items() for name in pair]
        fields = [stem, stem + ".in" if stdin is not None else "/dev/null", str(len(env) // 2), *env, code_of(request)]
        payload = b"".join(_escape(field) + b"\n" for field in fields)
        kernel.send(prefixed(payload) + ticket.token.encode())
        return stdout, stderr

    def say(self, kernel, message: dict) -> None:
        """The few questions that it takes; no pipe has these names."""
        mark, *names = _QUESTIONS[message["op"]]
        fields = [mark, *(str(message[name]) for name in names)]
        kernel.send(prefixed(b"".join(_escape(field) + b"\n" for field in fields)))

    def close(self) -> None:
        self._named.close()

    def ended(self) -> None:
        self._named.forget()


def _escape(text: str) -> bytes:
    return re.sub(rb"[^ -\[\]-~]", lambda match: b"\\0%03o" % match[0][0], encode(text))
