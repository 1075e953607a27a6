"""Random paths and archives for the guest's parsers: nothing outside of the destination may change, whatever comes.

Arguments: seed, seconds. Ends with a line of counts.
"""

import io
import os
import random
import shutil
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, "/opt/sandbar")

from guest.files import archives, paths  # noqa: E402
from guest.io.call_error import CallError  # noqa: E402

seed, seconds = int(sys.argv[1]), float(sys.argv[2])
rng = random.Random(seed)
PARTS = ["..", ".", "", "a", "b", "c", "l", "a b", "é", "\udcff", "x" * 255, "x" * 256, "\n", "-", "~"]
TYPES = [tarfile.REGTYPE] * 6 + [tarfile.DIRTYPE] * 3 + [tarfile.SYMTYPE] * 5 + [tarfile.LNKTYPE] * 2
TYPES += [tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, b"Z"]


class Source:
    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int) -> bytes:
        return self._file.read(size)


def some_path(hostile: float) -> str:
    pool = PARTS if rng.random() < hostile else ["a", "b", "c", "l"]
    path = "/".join(rng.choice(pool) for _ in range(rng.randint(1, 5)))
    return ("/" if rng.random() < hostile / 4 else "") + path


def some_archive() -> bytes:
    hostile = rng.choice([0.0, 0.0, 0.05, 0.5])
    file = io.BytesIO()
    form = rng.choice([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
    with tarfile.open(fileobj=file, mode="w", format=form, errors="surrogateescape") as archive:
        for _ in range(rng.randint(1, 8)):
            info = tarfile.TarInfo(some_path(hostile))
            info.type = rng.choice(TYPES if hostile else TYPES[:16])
            info.mode = rng.randint(0, 0o7777)
            info.mtime = rng.choice([0, 1.5, 2**33, 2**40])
            if info.type in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = rng.choice(["../", "../../", "", "", ""]) + some_path(hostile)
            content = b""
            if info.isreg():
                content = rng.randbytes(rng.choice([0, 1, 511, 512, 5000]))
                info.size = len(content)
            if rng.random() < 0.1 and form == tarfile.PAX_FORMAT:
                info.pax_headers = {rng.choice(["path", "linkpath", "size", "mtime", "GNU.sparse.major", "GNU.sparse.map"]): rng.choice(["../e", "/e", "-5", "1", "nan", "1e400"])}
            try:
                archive.addfile(info, io.BytesIO(content))
            except ValueError:
                pass
    data = bytearray(file.getvalue())
    for _ in range(rng.choice([0, 0, 1, 3, 20])):
        data[rng.randrange(min(len(data), 2048))] = rng.choice([0, 0x2F, 0x2E, 0x30, 0x37, 0x78, 0x80, 0xFF, rng.randrange(256)])
    if rng.random() < 0.5:
        fix_checksums(data)
    return bytes(data[: rng.randrange(len(data))]) if rng.random() < 0.1 else bytes(data)


def fix_checksums(data: bytearray) -> None:
    for at in range(0, len(data) - 511, 512):
        block = data[at : at + 512]
        if block[257:262] == b"ustar":
            block[148:156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(block)


def everything(folder: str) -> "list[str]":
    return sorted(os.path.join(base, name) for base, folders, names in os.walk(folder) for name in folders + names)


def check_archive(root: str) -> bool:
    outer = os.path.join(root, "outer")
    staging = os.path.join(outer, "staging")
    os.makedirs(staging)
    with open(os.path.join(outer, "canary"), "w") as file:
        file.write("canary")
    try:
        data = some_archive()
        try:
            archives._unpack(Source(data), os.fsencode(staging), "r|")
            good = True
        except (CallError, OSError):
            good = False
        assert sorted(os.listdir(root)) == ["outer"], os.listdir(root)
        assert sorted(os.listdir(outer)) == ["canary", "staging"], os.listdir(outer)
        assert open(os.path.join(outer, "canary")).read() == "canary"
        for path in everything(staging):
            if os.path.islink(path):
                real = os.path.realpath(path)
                assert (real + "/").startswith(os.path.realpath(staging) + "/"), (path, os.readlink(path), real)
            else:
                assert os.path.isfile(path) or os.path.isdir(path), path
                assert os.stat(path).st_mode & 0o7022 == 0 or os.path.isdir(path), path
        if good:
            target = os.path.join(outer, "target")
            os.mkdir(target)
            archives._merge(os.fsencode(staging), os.fsencode(target))
            assert everything(staging) == []
        return good
    finally:
        shutil.rmtree(outer)


def check_path() -> None:
    raw = rng.choice([some_path(1), "".join(chr(rng.choice([0, 47, 46, 65, 255, 0x202E, 0xD800, 0x1F980])) for _ in range(rng.randint(0, 6))), None, 5])
    try:
        path = paths.resolve({rng.choice(["path", "path_b64"]): raw})
        assert path.startswith(b"/") and b"\0" not in path
        folder, name = paths.resolve_new({"path": raw}) if isinstance(raw, str) else (b"", b"x")
        assert name not in (b"", b".", b"..") and b"/" not in name and len(name) <= 255
    except CallError as error:
        assert error.code == "PATH_INVALID", error.code


good = bad = looked = 0
until = time.monotonic() + seconds
with tempfile.TemporaryDirectory(dir="/session") as root:
    while time.monotonic() < until:
        if check_archive(root):
            good += 1
        else:
            bad += 1
        for _ in range(20):
            check_path()
            looked += 1
print("seed %d: %d archives unpacked, %d refused, %d paths" % (seed, good, bad, looked))
