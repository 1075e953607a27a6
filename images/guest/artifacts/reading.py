"""Artifacts on their way out, each read whole."""

import os
import stat
from json import dumps

from guest.artifacts import tree
from guest.artifacts.artifacts import ARTIFACTS
from guest.files import paths

CHUNK = 1024 * 1024
FLUSH_BYTES = 256 * 1024

_SESSION = os.fsdecode(paths.SESSION)


def read(dialer, params: dict, answer) -> dict:
    """For each entry a line, `{"size"}` or `{"skip"}`; then that many bytes; then `+`, or `-` when it changed meanwhile."""
    entries = tree.named(params["entries"])
    buffer = bytearray()
    with dialer.dial(str(params["transfer"])) as sock:
        answer({})
        busy = _open_for_writing()
        for path, mark in entries:
            try:
                fd = tree.open_file(path)
            except OSError as error:
                buffer += _line({"skip": _reason(error)})
                continue
            try:
                status = os.fstat(fd)
                if not ARTIFACTS.is_same(status, mark):
                    buffer += _line({"skip": "changed since the execution ended"})
                elif (status.st_dev, status.st_ino) in busy:
                    buffer += _line({"skip": "still being written"})
                else:
                    buffer += _line({"size": status.st_size})
                    if status.st_size > FLUSH_BYTES:
                        sock.sendall(buffer)
                        buffer.clear()
                        whole = _send_file(sock, fd, status.st_size)
                    else:
                        data = os.read(fd, status.st_size) if status.st_size else b""
                        whole = len(data) == status.st_size
                        buffer += data.ljust(status.st_size, b"\0")
                    buffer += b"+" if whole and ARTIFACTS.is_same(os.fstat(fd), mark) else b"-"
            finally:
                os.close(fd)
            if len(buffer) > FLUSH_BYTES:
                sock.sendall(buffer)
                buffer.clear()
        sock.sendall(buffer)
    return {}


def _send_file(sock, fd: int, size: int) -> bool:
    offset = 0
    while offset < size:
        sent = os.sendfile(sock.fileno(), fd, offset, min(size - offset, CHUNK))
        if sent == 0:
            break
        offset += sent
    whole = offset == size
    # The daemon counts on the length that it was told.
    while offset < size:
        offset += sock.send(bytes(min(size - offset, CHUNK)))
    return whole


def _open_for_writing() -> "set[tuple[int, int]]":
    """Files that some process holds open to write. Only processes of our own user can be looked at, and no others can write here."""
    busy = set()
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            numbers = os.listdir("/proc/%s/fd" % pid)
        except OSError:
            continue
        for number in numbers:
            try:
                # The link's own mode says how the file was opened, without opening anything.
                if not os.lstat("/proc/%s/fd/%s" % (pid, number)).st_mode & stat.S_IWUSR:
                    continue
                if not os.readlink("/proc/%s/fd/%s" % (pid, number)).startswith(_SESSION):
                    continue
                status = os.stat("/proc/%s/fd/%s" % (pid, number))
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                busy.add((status.st_dev, status.st_ino))
    return busy


def _reason(error: OSError) -> str:
    return "cannot be read: %s" % (error.strerror or "it is gone")


def _line(value: dict) -> bytes:
    return dumps(value).encode() + b"\n"
