"""One pickler for the whole namespace: what two variables share is one object again, and functions find the session's globals.

A variable that fails leaves nothing behind: neither bytes, nor entries in the pickler's memo that later ones would refer to.
"""

import io
import os
import pickle
import sys
import types

from . import handles
from .reasons import readable_only

_IOBase = io.IOBase.__base__
"""Without the machinery of abstract classes, for every object that is pickled is asked."""

INLINE_BYTES = 64 * 1024
"""Larger buffers go into the stream as they are, and never through the pickler."""
HELD_BYTES = 32 * 1024 * 1024
"""Of one variable's pickle, in memory until it is whole; more is put into a file without a name."""


class Held:
    """What the pickler writes of one variable."""

    def __init__(self) -> None:
        self._file = None
        self._tried = False
        self.discard()

    def discard(self) -> None:
        self.size = 0
        self._pieces = []
        self._in_memory = 0
        if self._file is not None:
            self._file.close()
        self._file = None
        self._tried = False

    def write(self, data) -> int:
        self._pieces.append(data if type(data) is bytes else bytes(data))
        self.size += len(data)
        self._in_memory += len(data)
        if self._in_memory > HELD_BYTES:
            self._spill()
        return len(data)

    def taken_back(self, size: int) -> bytes:
        """The last that was written, from `size` on."""
        data = b"".join(self._pieces)
        self._pieces = [data[:size]]
        self.size = self._in_memory = size
        return data[size:]

    def read(self):
        if self._file is not None:
            self._file.seek(0)
            while True:
                data = self._file.read(1024 * 1024)
                if not data:
                    break
                yield data
        yield from self._pieces

    def _spill(self) -> None:
        if not self._tried:
            self._tried = True
            try:
                fd = os.open("/session", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
                self._file = open(fd, "r+b")
            except OSError:
                # Not on every file system.
                pass
        if self._file is not None:
            for piece in self._pieces:
                self._file.write(piece)
            self._pieces = []
            self._in_memory = 0


def _classes():
    """cloudpickle is the session's; without it, functions and classes of its own cannot be saved."""
    try:
        from cloudpickle import Pickler

        return Pickler, True
    except Exception:
        return pickle.Pickler, False


def singletons(shell) -> dict:
    """Objects that every kernel has: they are not copied, but found again. By name."""
    random, mtrand = sys.modules.get("random"), sys.modules.get("numpy.random.mtrand")
    found = {
        "namespace": shell.namespace,
        "main": sys.modules.get("__main__"),
        "shell": getattr(shell, "user_shell", None),
        "stdin": sys.stdin,
        "stdout": sys.stdout,
        "stderr": sys.stderr,
        # Whose state would come back twice: `randint` of a `from random import randint` is bound to it.
        "random": getattr(random, "_inst", None),
        "numpy.random": getattr(mtrand, "_rand", None),
    }
    return {name: value for name, value in found.items() if value is not None}


def make_pickler(held: Held, shell, owners: dict):
    """`owners`: arrays of the namespace, by id, with the variable that each is."""
    base, complete = _classes()
    known = {id(value): name for name, value in singletons(shell).items()}
    namespace = shell.namespace
    array = getattr(sys.modules.get("numpy"), "ndarray", ())

    class Pickler(base):
        def __init__(self) -> None:
            self.buffers = []
            self.notes = set()
            self.variable = ""
            self._mark = None
            super().__init__(held, 5, buffer_callback=self._on_buffer)
            if complete:
                self.globals_ref = {id(namespace): namespace}

        def _on_buffer(self, buffer) -> bool:
            if buffer.raw().nbytes < INLINE_BYTES:
                return True
            self.buffers.append(buffer)
            return False

        def persistent_id(self, value):
            return known.get(id(value))

        def reducer_override(self, value):
            if isinstance(value, _IOBase) and not isinstance(value, (io.BytesIO, io.StringIO)):
                if isinstance(value, (io.TextIOWrapper, io.BufferedReader, io.FileIO)) and readable_only(value):
                    self.notes.add("the file is opened again, at the position where it was read")
                    return handles.reduced(value)
                raise pickle.PicklingError("a file that is closed, or open for writing, cannot be saved")
            if isinstance(value, array):
                self._look_at_array(value)
            elif type(value) is memoryview:
                self.notes.add("a memoryview becomes bytes")
            if complete:
                return super().reducer_override(value)
            if isinstance(value, (types.FunctionType, type)) and value.__module__ == "__main__":
                raise pickle.PicklingError("functions and classes of the session need cloudpickle, which this image does not have")
            return NotImplemented

        def _dynamic_function_reduce(self, func):
            reduced = super()._dynamic_function_reduce(func)
            if func.__globals__ is namespace:
                # They are there already, or come with a variable of their own.
                reduced[2][1]["__globals__"] = {}
            return reduced

        def _look_at_array(self, value) -> None:
            owner = owner_of(value, array)
            if owner is not value and owners.get(id(owner)) not in (None, self.variable) and value.flags.writeable:
                self.notes.add("it shared its memory with %r, and has a copy now" % owners[id(owner)][:100])

        def save(self, name: str, value) -> int:
            """Into `held` and `buffers`, or not at all. It begins with an object of our own; where that stands in the memo is the answer."""
            self._mark = [0]
            self.variable = name
            self.buffers = []
            self.notes = set()
            held.discard()
            try:
                self.dump(self._mark)
                size = held.size
                self.dump(self._mark)
                # What it knows already it only refers to, by number.
                position = _number_in(held.taken_back(size))
                self.dump(value)
                return position
            except BaseException:
                self._forget()
                raise

        def _forget(self) -> None:
            memo = self.memo.copy()
            begin = memo.get(id(self._mark))
            if begin is not None:
                self.memo = {key: entry for key, entry in memo.items() if entry[0] < begin[0]}
            held.discard()
            self.buffers = []

    return Pickler()


def _number_in(reference: bytes) -> int:
    """Of a pickle that is nothing but BINGET or LONG_BINGET."""
    code = reference[2:-1]
    return int.from_bytes(code[1:], "little")


def owner_of(value, array):
    """Whose memory an array shows."""
    while isinstance(value.base, array):
        value = value.base
    return value


def array_owners(items) -> dict:
    """Which variable stands for each memory that several arrays may show: the array that has it, else the first that shows it."""
    array = getattr(sys.modules.get("numpy"), "ndarray", ())
    owners = {}
    for name, value in items:
        if isinstance(value, array):
            owner = owner_of(value, array)
            if owner is value:
                owners[id(owner)] = name
            else:
                owners.setdefault(id(owner), name)
    return owners

