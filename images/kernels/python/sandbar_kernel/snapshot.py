"""The namespace as a list, made in a forked child."""

import os
import signal

from . import forked
from .variables import Variables
from .wire_json import dumps

_setitimer = signal.setitimer
_ITIMER_REAL = signal.ITIMER_REAL
_signal = signal.signal
_sigmask = signal.pthread_sigmask
_SIGALRM = signal.SIGALRM
_SIG_UNBLOCK = signal.SIG_UNBLOCK
_OVERDUE = "<repr did not come in time>"
_ENDED = "<repr ended the process that asked for it>"


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
    try:
        line(os.getcwd())
    except OSError:
        line("")
    found = Variables(namespace, hidden, request["variables"], request["repr"])
    line(found.imports)
    line(found.total)
    line(len(found.items))
    heads = [{"name": name, "type": within(lambda: found.type_of(value), lambda _: "?"), "size": None} for name, value in found.items]
    for head in heads:
        line(head)
    for head, (_, value) in zip(heads, found.items):
        head["repr"] = within(
            lambda: found.repr_of(value),
            lambda error: _OVERDUE if isinstance(error, _Overdue) else "<repr raised %s>" % type(error).__name__,
        )
        head["size"] = within(lambda: found.size_of(value), lambda _: None)
        line(head)
