"""The stream: a line that names the format, then records, each a letter, its length in 8 bytes, and that many bytes."""

import io
import os

FORMAT = "python-cloudpickle/1"
MAGIC = b"sandbar %s\n" % FORMAT.encode()
META, NAME, BUFFER, PICKLE, END = b"M", b"N", b"B", b"P", b"E"
HEAD_BYTES = 9
JSON_BYTES = 16 * 1024 * 1024
"""Of a record that is read whole."""


class Damaged(Exception):
    pass


class Writer:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def begin(self) -> None:
        self._write(MAGIC)

    def record(self, kind: bytes, pieces, size: int) -> None:
        self._write(kind + size.to_bytes(HEAD_BYTES - 1, "big"))
        for piece in pieces:
            self._write(piece)

    def _write(self, data) -> None:
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        while view:
            view = view[os.write(self._fd, view) :]


class Reader:
    def __init__(self, fd: int) -> None:
        self._file = io.BufferedReader(io.FileIO(fd, "r", closefd=False), 1024 * 1024)

    def begin(self) -> None:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise Damaged("it is not the state of a Python context")

    def next(self) -> "tuple[bytes, int]":
        head = self._file.read(HEAD_BYTES)
        if len(head) < HEAD_BYTES:
            raise Damaged("it is cut short")
        return head[:1], int.from_bytes(head[1:], "big")

    def whole(self, size: int) -> bytes:
        if size > JSON_BYTES:
            raise Damaged("a record is too long")
        data = self._file.read(size)
        if len(data) < size:
            raise Damaged("it is cut short")
        return data

    def buffer(self, size: int) -> bytearray:
        """Grown as the bytes come: a length alone takes no memory."""
        data = bytearray()
        while len(data) < size:
            piece = self._file.read(min(size - len(data), 16 * 1024 * 1024))
            if not piece:
                raise Damaged("it is cut short")
            if not data and len(piece) == size:
                return bytearray(piece)
            data += piece
        return data

    def window(self, size: int) -> "Window":
        return Window(self._file, size)


class Window:
    """One record as a file of its own, as far as an unpickler needs one."""

    def __init__(self, file, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def readinto(self, buffer) -> int:
        view = memoryview(buffer).cast("B")
        count = self._file.readinto(view[: self._left]) if self._left else 0
        self._left -= count
        return count

    def readline(self) -> bytes:
        line = self._file.readline(self._left)
        self._left -= len(line)
        return line

    def skip(self) -> None:
        while self._left > 0:
            if not self.read(1024 * 1024):
                raise Damaged("it is cut short")
