"""A namespace out of this kernel and into it. The guest has made two named pipes: one for the stream, one on which it hears how that goes."""

import os

from . import forked
from .channel import above_stdio
from .wire_json import dumps

_open = os.open
_close = os.close
_write = os.write


def dump(shell, request: dict, channel, born: "tuple[dict, list]") -> None:
    """In a process apart: the kernel takes code again as soon as that is there."""
    answer = {"op": "answer", "ask": request["ask"]}
    fds = []
    try:
        fds += [_opened(request[name], os.O_WRONLY) for name in ("report", "data")]
        channel.send({**answer, "result": {"pid": forked.away(lambda: _dump(shell, request, born, *fds))}})
    except OSError as error:
        channel.send({**answer, "error": "no process could be started to save the variables: %s" % error.strerror})
    finally:
        for fd in fds:
            _close(fd)


def _dump(shell, request: dict, born: "tuple[dict, list]", report: int, data: int) -> None:
    say = _speaker(report)
    try:
        from .saved_state.dump import dump as write

        write(shell, data, say, *born, request["each_s"])
    except BaseException as failure:
        say({"failed": "%s: %s" % (type(failure).__name__, failure)})


def load(shell, request: dict, channel, interrupts) -> None:
    fds = []
    try:
        fds += [_opened(request["report"], os.O_WRONLY), _opened(request["data"], os.O_RDONLY)]
        say = _speaker(fds[0])
        try:
            say({"opened": True})
            interrupts.begin()
            from .saved_state.load import load as read

            read(shell, fds[1], say)
        except BaseException as failure:
            interrupts.end()
            say({"failed": "%s: %s" % (type(failure).__name__, failure)})
    except OSError:
        # The guest finds that nothing was said.
        pass
    finally:
        interrupts.end()
        for fd in fds:
            _close(fd)
    channel.send({"op": "answer", "ask": request["ask"], "result": {}})


def _opened(path: str, flags: int) -> int:
    return above_stdio(_open(path, flags | os.O_CLOEXEC))


def _speaker(fd: int):
    def say(message: dict) -> None:
        line = dumps(message) + b"\n"
        while line:
            line = line[_write(fd, line) :]

    return say
