"""A box of the pool becomes a session: the daemon has mounted folders over those that guest and kernels started in."""

import os

from guest.io.call_error import CallError
from guest.system import environment, pid_one

ENTER_S = 5.0


def enter(guest, _params: dict, reply) -> None:
    """A working directory goes on being the covered folder until it is entered again. Answers what is there now."""
    try:
        folder = pid_one.enter_session()
        environment.home()
    except OSError as error:
        raise CallError("FAILED", "the session's folder cannot be entered: %s" % error) from None
    waiting = set(guest.contexts)

    def entered(name: str, message: dict) -> None:
        if "error" in message:
            reply(error=str(message["error"])[:1000], code="FAILED")
        waiting.discard(name)
        if not waiting:
            reply({"session": _identity(folder), "data": _identity("/data")})

    for name, context in list(guest.contexts.items()):
        context.enter(folder, ENTER_S, lambda message, name=name: entered(name, message))
    if not guest.contexts:
        entered("", {})


def _identity(folder: str) -> "str | None":
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return "%d:%d" % (status.st_dev, status.st_ino)
