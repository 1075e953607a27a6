"""The namespace as a list, made in a forked child."""

import os
import reprlib
import signal
import sys
import types

from . import forked
from .channel import dumps

_repr = repr
_getsizeof = sys.getsizeof
_setitimer = signal.setitimer
_ITIMER_REAL = signal.ITIMER_REAL
_signal = signal.signal
_sigmask = signal.pthread_sigmask
_SIGALRM = signal.SIGALRM
_SIG_UNBLOCK = signal.SIG_UNBLOCK
_OVERDUE = "<repr did not come in time>"
_ENDED = "<repr ended the process that asked for it>"
_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, bytearray)


class _Overdue(BaseException):
    pass


def _on_alarm(_number, _frame) -> None:
    raise _Overdue


def take(namespace: dict, hidden, request: dict, channel) -> None:
    try:
        data, status = forked.ask(lambda fd: _write(fd, namespace, hidden, request), channel)
    except OSError as error:
        channel.send({"op": "answer", "error": "no process could be started to read the variables: %s" % error.strerror})
        return
    # One line for each step, so that a child that was killed half-way still gave the first half.
    lines = data.split(b"\n")[:-1]
    if len(lines) < 4 or len(lines) < 4 + int(lines[3]):
        channel.send({"op": "answer", "error": "the namespace could not be read in time"})
        return
    cwd, imports, total, count, *rest = lines
    named, variables = rest[: int(count)], rest[int(count) :]
    # The guest kills a child that takes too long.
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    text = _OVERDUE if late else _ENDED
    for head in named[len(variables) :]:
        variables.append(b'%s,"repr":"%s"}' % (head[:-1], text.encode()))
        text = "<not read: time was up>" if late else "<not read>"
    channel.send_line(b'{"op":"answer","result":{"cwd":%s,"imports":%s,"total":%s,"variables":[%s]}}' % (cwd, imports, total, b",".join(variables)))


def _write(fd: int, namespace: dict, hidden, request: dict) -> None:
    def line(value) -> None:
        os.write(fd, dumps(value) + b"\n")

    def within(look, instead):
        """User code may be asked for anything here: a loop is interrupted, unless it is in C or ignores that."""
        _setitimer(_ITIMER_REAL, request["each_s"])
        try:
            return look()
        except BaseException as error:
            return instead(error)
        finally:
            _setitimer(_ITIMER_REAL, 0)

    _signal(_SIGALRM, _on_alarm)
    _sigmask(_SIG_UNBLOCK, (_SIGALRM,))
    short = reprlib.Repr()
    short.maxstring = short.maxother = request["repr"]
    short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdict = 20
    try:
        line(os.getcwd())
    except OSError:
        line("")
    items = [(name, value) for name, value in namespace.items()
             if isinstance(name, str) and not name.startswith("_") and name not in hidden]
    line(sorted({value.__name__ for _, value in items if type(value) is types.ModuleType}))
    variables = [item for item in items if type(item[1]) is not types.ModuleType]
    line(len(variables))
    variables = variables[: request["variables"]]
    line(len(variables))
    heads = [{"name": name, "type": within(lambda: str(type(value).__name__), lambda _: "?"), "size": None} for name, value in variables]
    for head in heads:
        line(head)
    for head, (_, value) in zip(heads, variables):
        head["repr"] = within(
            lambda: str(short.repr(value) if isinstance(value, _CONTAINERS) else _repr(value))[: request["repr"]],
            lambda error: _OVERDUE if isinstance(error, _Overdue) else "<repr raised %s>" % type(error).__name__,
        )
        head["size"] = within(lambda: int(_getsizeof(value)), lambda _: None)
        line(head)
