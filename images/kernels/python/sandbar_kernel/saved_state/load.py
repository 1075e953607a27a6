"""Takes a stream into a namespace: all of what can come back, when the stream was whole."""

import builtins
import importlib
import io
import json
import os
import pickle
import sys

from .dump import Report
from .pickler import singletons
from .reasons import failure
from .records import BUFFER, END, META, NAME, PICKLE, Damaged, Reader

_BY_VALUE = ("_make_function", "_builtin_type")
"""What brings bytecode."""


def load(shell, fd: int, say) -> None:
    reader = Reader(fd)
    reader.begin()
    meta = _expect(reader, META)
    report = Report()
    values = {}
    surroundings = _enter(meta)
    modules = _import(meta, report)
    loader = _Loader(shell, meta["python"])
    while True:
        kind, size = reader.next()
        if kind == END:
            end = json.loads(reader.whole(size))
            break
        if kind != NAME:
            raise Damaged("records are in disorder")
        head = json.loads(reader.whole(size))
        name, kind_of = str(head["name"]), str(head["type"])
        say({"at": name[:200]})
        buffers = []
        kind, size = reader.next()
        while kind == BUFFER:
            buffers.append(reader.buffer(size))
            kind, size = reader.next()
        if kind != PICKLE:
            raise Damaged("records are in disorder")
        window = reader.window(size)
        try:
            values[name] = loader.load(window, buffers, int(head["memo"]))
            report.add(name, kind_of, "saved")
        except Damaged:
            raise
        except BaseException as error:
            report.add(name, kind_of, "lost", failure(error))
        window.skip()
    shell.namespace.update(modules)
    shell.namespace.update(values)
    shell.namespace["__builtins__"] = builtins
    report.merge(end["variables"])
    say({"done": {**report.said(), "environment": surroundings}})


def _expect(reader: Reader, wanted: bytes) -> dict:
    kind, size = reader.next()
    if kind != wanted:
        raise Damaged("records are in disorder")
    return json.loads(reader.whole(size))


def _enter(meta: dict) -> dict:
    cwd = meta.get("cwd")
    for key, value in meta["set"].items():
        os.environ[key] = value
    for key in meta["unset"]:
        os.environ.pop(key, None)
    sys.path.extend(entry for entry in meta["path"] if entry not in sys.path)
    try:
        if cwd is not None:
            os.chdir(cwd)
    except OSError:
        pass
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = None
    return {"cwd": cwd, "set": sorted(meta["set"]), "unset": sorted(meta["unset"])}


def _import(meta: dict, report: Report) -> dict:
    importlib.invalidate_caches()
    modules = {}
    for name, module in meta["modules"]:
        try:
            modules[name] = importlib.import_module(module)
            report.add(name, "module", "saved")
        except BaseException as error:
            report.add(name, "module", "lost", failure(error))
    for name in meta["submodules"]:
        if name not in sys.modules and name.rpartition(".")[0] in sys.modules:
            try:
                importlib.import_module(name)
            except BaseException:
                # Nobody has asked for it by name.
                pass
    return modules


class _Missing:
    """Stands in the memo for what a failed variable did not bring. Whoever refers to it has failed, too."""


class _Loader:
    def __init__(self, shell, python: list) -> None:
        self._known = singletons(shell)
        self._same_python = tuple(python[:2]) == sys.version_info[:2]
        self._python = ".".join(map(str, python[:2]))
        self._missing = _Missing()
        self._unpickler = None
        self._window = None
        self._buffers = iter(())
        self._failed = False
        self._position = 0
        self._kept = []

    def load(self, window, buffers: list, position: int):
        """`position`: of its first entry in the memo."""
        self._window = window
        self._buffers = iter(buffers)
        if self._unpickler is None or self._failed:
            self._renew(position)
        try:
            before = sys.getrefcount(self._missing)
            self._unpickler.load()
            value = self._unpickler.load()
            if sys.getrefcount(self._missing) != before:
                raise pickle.UnpicklingError("it shares something with a variable that is lost")
            return value
        except BaseException:
            self._failed = True
            self._position = position
            raise

    # What the unpickler reads, and takes buffers from.

    def read(self, size: int = -1) -> bytes:
        return self._window.read(size)

    def readinto(self, buffer) -> int:
        return self._window.readinto(buffer)

    def readline(self) -> bytes:
        return self._window.readline()

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._buffers)

    def _renew(self, position: int) -> None:
        """A new unpickler that knows what the old one did before the variable that failed, and nothing of that."""
        memo = self._unpickler.memo.copy() if self._unpickler is not None else {}
        self._kept = [memo.get(index, self._missing) if index < self._position else self._missing for index in range(position)]
        memo.clear()
        self._failed = False
        self._unpickler = _unpickler(self, self._find_class, self._find_known)
        window, self._window = self._window, io.BytesIO(_memo_of(position))
        self._unpickler.load()
        self._window = window
        self._kept = []

    def _find_known(self, name):
        return self._kept[name] if isinstance(name, int) else self._known[name]

    def _find_class(self, find, module: str, name: str):
        if not self._same_python and name in _BY_VALUE and module.startswith("cloudpickle"):
            raise pickle.UnpicklingError("functions of Python %s do not run in %d.%d" % (self._python, *sys.version_info[:2]))
        return find(module, name)


def _unpickler(source, find_class, find_known) -> pickle.Unpickler:
    class Unpickler(pickle.Unpickler):
        def find_class(self, module: str, name: str):
            return find_class(super().find_class, module, name)

        def persistent_load(self, name):
            return find_known(name)

    return Unpickler(source, buffers=source)


def _memo_of(size: int) -> bytes:
    """A pickle that brings nothing but so many entries of the memo, each asked for by its number."""
    entries = (pickle.BININT + index.to_bytes(4, "little") + pickle.BINPERSID + pickle.MEMOIZE + pickle.POP for index in range(size))
    return pickle.PROTO + b"\x05" + b"".join(entries) + pickle.NONE + pickle.STOP
