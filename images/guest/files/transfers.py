"""Bulk bytes, each transfer on a connection of its own that the guest dials, in constant memory.

Out of the guest: raw bytes, as many as the call's answer says. Into the guest: raw bytes until the daemon half-closes;
a daemon that is gone altogether has closed both ways, and then what came so far is thrown away.
"""

import _thread
import os
import socket
import stat

from guest.files import paths
from guest.io.call_error import CallError
from guest.io.wire_json import dumps, encode

CHUNK = 1024 * 1024
RECEIVE_BYTES = 256 * 1024

_replacing = _thread.allocate_lock()
"""Of two who expect the same file, one replaces it; the other finds another one."""


class Dialer:
    def __init__(self, socket_path: str, token) -> None:
        self._path = socket_path
        self._token = token

    def dial(self, transfer: str) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            sock.connect(self._path)
            opening = {"type": "transfer", "token": self._token(), "transfer": transfer}
            sock.sendall(encode(dumps(opening)) + b"\n")
        except OSError:
            sock.close()
            raise CallError("TRANSFER_FAILED", "the daemon does not take the connection") from None
        return sock


class Incoming:
    """What the daemon sends: read it to its end, then ask whether that was the end or a cut."""

    def __init__(self, sock: socket.socket, size: "int | None" = None) -> None:
        import hashlib

        self._sock = sock
        self._size = size
        self._hash = hashlib.sha256()
        self.received = 0

    def readinto(self, view: memoryview) -> int:
        try:
            count = self._sock.recv_into(view)
        except OSError:
            raise CallError("TRANSFER_FAILED", "the connection was cut") from None
        self._hash.update(view[:count])
        self.received += count
        return count

    def read(self, size: int) -> bytes:
        """As a file would: short only at the end. For tarfile, which asks for whole blocks."""
        buffer = bytearray(size)
        view = memoryview(buffer)
        filled = 0
        while filled < size:
            count = self.readinto(view[filled:])
            if count == 0:
                break
            filled += count
        return bytes(view[:filled])

    def drain(self) -> None:
        view = memoryview(bytearray(RECEIVE_BYTES))
        while self.readinto(view):
            pass

    def confirm(self) -> dict:
        """Only a half-closed peer can still be written to."""
        try:
            self._sock.send(b"\n", socket.MSG_NOSIGNAL)
        except OSError:
            raise CallError("TRANSFER_FAILED", "the connection was cut") from None
        if self._size is not None and self.received != self._size:
            raise CallError("TRANSFER_FAILED", "%d of %d bytes came" % (self.received, self._size))
        return {"size": self.received, "sha256": self._hash.hexdigest()}


def open_file(path: bytes, follow: bool) -> int:
    """A regular file or nothing. Looked at before it is opened: opening a FIFO would already wake its writers."""
    paths.must_be_file(os.stat(path, follow_symlinks=follow))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    fd = os.open(path, flags)
    try:
        paths.must_be_file(os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def read(dialer: Dialer, params: dict, answer) -> dict:
    transfer = str(params["transfer"])
    path, follow = paths.resolve(params), params.get("follow") is True
    found = os.stat(path, follow_symlinks=follow)
    if stat.S_ISDIR(found.st_mode):
        return {**_facts(found), "size": 0, "directory": True}
    fd = open_file(path, follow)
    try:
        status = os.fstat(fd)
        offset, left = _window(params, paths.size_of(status))
        if left is None:
            return {**_facts(status), "unsatisfiable": True}
        result = {**_facts(status), "offset": offset, "length": left}
        with dialer.dial(transfer) as sock:
            answer(result)
            while left > 0:
                sent = os.sendfile(sock.fileno(), fd, offset, min(left, CHUNK))
                if sent == 0:
                    break
                offset += sent
                left -= sent
        return result
    finally:
        os.close(fd)


def _facts(status: os.stat_result) -> dict:
    mode = stat.S_IMODE(status.st_mode)
    return {"size": paths.size_of(status), "offset": 0, "length": 0, "mtime_ns": str(status.st_mtime_ns), "mode": mode}


def _window(params: dict, size: int) -> "tuple[int, int | None]":
    """`offset` and `length`, or `last`: that many bytes from the end. No length: outside of the file."""
    last = params.get("last")
    if last is not None:
        length = min(int(last), size)
        return size - length, length if length > 0 else None
    offset = int(params.get("offset") or 0)
    length = params.get("length")
    if offset < 0 or (length is not None and int(length) < 0):
        raise CallError("VALIDATION_FAILED", "offset and length must not be negative")
    if offset > size or (offset == size and params.get("ranged") is True):
        return offset, None
    return offset, size - offset if length is None else min(int(length), size - offset)


def write(dialer: Dialer, params: dict, _answer) -> dict:
    folder, name = paths.resolve_new(params)
    target = os.path.join(folder, name)
    size, expected = params.get("size"), params.get("if_match")
    _must_match(target, expected)
    if params.get("mkdirs") is True:
        os.makedirs(folder, exist_ok=True)
    mode = _mode_for(target, params.get("mode"))
    if size is not None:
        _must_have_room(folder, int(size))
    part = os.path.join(folder, paths.part_name())
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with dialer.dial(str(params["transfer"])) as sock:
            incoming = Incoming(sock, None if size is None else int(size))
            buffer = memoryview(bytearray(RECEIVE_BYTES))
            while True:
                count = incoming.readinto(buffer)
                if count == 0:
                    break
                write_all(fd, buffer[:count])
            result = incoming.confirm()
        os.fchmod(fd, mode)
        with _replacing:
            _must_match(target, expected)
            os.replace(part, target)
        return {**result, "mtime_ns": str(os.fstat(fd).st_mtime_ns)}
    except BaseException:
        os.unlink(part)
        raise
    finally:
        os.close(fd)


def _must_match(target: bytes, expected) -> None:
    """`expected`: time and size that the file must have, or True for any file at all."""
    if expected is None:
        return
    try:
        status = os.lstat(target)
    except (FileNotFoundError, NotADirectoryError):
        raise CallError("ETAG_MISMATCH", "there is no such file") from None
    if expected is not True and [str(status.st_mtime_ns), paths.size_of(status)] != expected:
        raise CallError("ETAG_MISMATCH", "the file has changed")


def write_all(fd: int, view: memoryview) -> None:
    while view:
        view = view[os.write(fd, view) :]


def _mode_for(target: bytes, wanted) -> int:
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return (int(wanted) & 0o777) if wanted is not None else 0o644
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
        raise CallError("NOT_A_FILE", "the path is a %s" % paths.kind_of(status.st_mode))
    if wanted is not None:
        return int(wanted) & 0o777
    return stat.S_IMODE(status.st_mode) & 0o777 if stat.S_ISREG(status.st_mode) else 0o644


def _must_have_room(folder: bytes, size: int) -> None:
    room = os.statvfs(folder)
    # Where the kernel shows files of its own there are no blocks at all; whoever writes there is told why not.
    if room.f_blocks > 0 and size > room.f_bavail * room.f_frsize:
        raise CallError("STORAGE_FULL", "%d bytes do not fit; %d are free" % (size, room.f_bavail * room.f_frsize))
