"""Files in memory, where the system has them."""

import os

from guest.io.wire_json import encode
from guest.wires.named_pipes import private_folder


def memory_file(text: str) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("stdin")
    else:
        path = os.path.join(private_folder(), "stdin")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(path)
    write_all(fd, encode(text))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def write_all(fd: int, data: bytes) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
