"""Writes a namespace as a stream. In a process of its own: whatever user code does here, the session does not notice."""

import os
import signal
import sys
import types

from ..wire_json import dumps
from .pickler import Held, array_owners, make_pickler
from .reasons import failure, never
from .records import BUFFER, END, META, NAME, PICKLE, Writer

REPORTED = 2000
TEXT = 200
SUBMODULES = 5000
RESERVED = frozenset(("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__builtin__", "__file__"))


class _Overdue(BaseException):
    pass


def _on_alarm(_number, _frame) -> None:
    raise _Overdue


def dump(shell, out: int, say, environ: dict, path: list, each_s: float) -> None:
    """`environ` and `path` are what they were before user code ran; `say` takes lines for the guest."""
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
    writer = Writer(out)
    writer.begin()
    items = user_items(shell)
    modules = [(name, value) for name, value in items if _importable(value)]
    values = [(name, value) for name, value in items if not _importable(value)]
    _json(writer, META, {
        "python": list(sys.version_info[:3]),
        **_surroundings(environ, path),
        "modules": [[name, value.__name__] for name, value in modules],
        "submodules": _submodules(modules),
    })
    held = Held()
    pickler = make_pickler(held, shell, array_owners(values))
    report = Report()
    for name, value in modules:
        report.add(name, "module", "saved")
    for name, value in values:
        kind = type(value).__name__
        say({"at": name[:TEXT]})
        reason = never(value)
        if reason is None:
            try:
                position = _within(each_s, lambda: pickler.save(name, value))
            except _Overdue:
                reason = "it took longer than %g s" % each_s
            except BaseException as error:
                reason = failure(error)
        if reason is not None:
            report.add(name, kind, "lost", reason)
            continue
        _json(writer, NAME, {"name": name, "type": kind[:TEXT], "memo": position})
        for buffer in pickler.buffers:
            view = buffer.raw()
            writer.record(BUFFER, [view], view.nbytes)
        writer.record(PICKLE, held.read(), held.size)
        notes = "; ".join(sorted(pickler.notes))
        report.add(name, kind, "degraded" if notes else "saved", notes)
    held.discard()
    report.trace(values, shell.namespace)
    said = report.said()
    _json(writer, END, said)
    environment = _surroundings(environ, path)
    say({"done": {**said, "environment": {"cwd": environment["cwd"], "set": sorted(environment["set"]), "unset": environment["unset"]}}})


def user_items(shell) -> list:
    hidden = shell.hidden
    is_hidden = (lambda name, value: name in hidden and hidden[name] is value) if isinstance(hidden, dict) else (lambda name, _: name in hidden)
    return [(name, value) for name, value in list(shell.namespace.items())
            if type(name) is str and name not in RESERVED and not is_hidden(name, value)]


class Report:
    def __init__(self) -> None:
        self._entries = {}

    def add(self, name: str, kind: str, status: str, reason: str = "") -> None:
        entry = {"name": name[:TEXT], "type": str(kind)[:TEXT], "status": status}
        if reason:
            entry["reason"] = reason
        self._entries[name] = entry

    def merge(self, entries: list) -> None:
        """What was not whole when it was saved is not so now."""
        for entry in entries:
            known = self._entries.get(entry["name"])
            if entry["status"] != "saved" and (known is None or known["status"] == "saved"):
                self._entries[entry["name"]] = entry

    def trace(self, values: list, namespace: dict) -> None:
        """Functions that use what is lost are not whole."""
        lost = {name for name, entry in self._entries.items() if entry["status"] == "lost"}
        if not lost:
            return
        for name, value in values:
            entry = self._entries[name]
            if isinstance(value, types.FunctionType) and value.__globals__ is namespace and entry["status"] == "saved":
                missing = sorted(_names(value.__code__) & lost)
                if missing:
                    entry.update(status="degraded", reason="it uses %s, which is lost" % ", ".join(missing)[:TEXT])

    def said(self) -> dict:
        """Those that are not whole first: they are never among the ones that are only counted."""
        entries = sorted(self._entries.values(), key=lambda entry: ("lost", "degraded", "saved").index(entry["status"]))
        return {"variables": entries[:REPORTED], "more": max(0, len(entries) - REPORTED)}


def _names(code) -> set:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _importable(value) -> bool:
    return type(value) is types.ModuleType and sys.modules.get(value.__name__) is value and getattr(value, "__spec__", None) is not None


def _submodules(modules: list) -> list:
    """What the packages among them have imported since: `import concurrent.futures` binds `concurrent` alone."""
    packages = tuple(value.__name__ + "." for _, value in modules if hasattr(value, "__path__"))
    return sorted(name for name in list(sys.modules) if isinstance(name, str) and name.startswith(packages))[:SUBMODULES] if packages else []


def _surroundings(environ: dict, path: list) -> dict:
    """Folder, environment and search path, as far as user code has changed them."""
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = None
    now = dict(os.environ)
    return {
        "cwd": cwd,
        "set": {key: value for key, value in now.items() if environ.get(key) != value},
        "unset": sorted(key for key in environ if key not in now),
        "path": [entry for entry in sys.path if isinstance(entry, str) and entry not in path],
    }


def _within(seconds: float, action):
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return action()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _json(writer: Writer, kind: bytes, value) -> None:
    data = dumps(value)
    writer.record(kind, [data], len(data))
