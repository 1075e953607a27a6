"""What callers hand over to be sent: bytes, text, a path, an open file, or chunks."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import AsyncIterable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Optional, Union

from ._errors import CorruptDownloadError, SandbarError

Source = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", IO[bytes], Iterable[bytes]]
AsyncSource = Union[Source, AsyncIterable[bytes]]

CHUNK_BYTES = 256 * 1024


def if_match_header(etag: str) -> str:
    """`stat` tells an etag as HTTP writes it, an entry without the quotes."""
    return etag if etag == "*" or etag.endswith('"') else f'"{etag}"'


class Content:
    """A request body. Unless it is a one-way stream it can be sent again."""

    def __init__(self, source: Any) -> None:
        if isinstance(source, str):
            source = source.encode()
        self.source = source
        self.length: Optional[int] = None
        self.replayable = True
        self._start = 0
        if isinstance(source, (bytes, bytearray, memoryview)):
            self.source = bytes(source)
            self.length = len(self.source)
        elif isinstance(source, os.PathLike):
            self.length = os.stat(source).st_size
        elif hasattr(source, "read"):
            self.replayable = bool(hasattr(source, "seekable") and source.seekable())
            if self.replayable:
                self._start = source.tell()
                self.length = source.seek(0, os.SEEK_END) - self._start
                source.seek(self._start)
        elif hasattr(source, "__aiter__") or hasattr(source, "__iter__"):
            self.replayable = False
        else:
            raise TypeError(
                f"cannot send {type(source).__name__}: give bytes, text, a path, a file or chunks"
            )

    def chunks(self) -> Iterator[bytes]:
        source = self.source
        if isinstance(source, bytes):
            yield source
        elif isinstance(source, os.PathLike):
            with open(source, "rb") as file:
                yield from _read(file)
        elif hasattr(source, "read"):
            if self.replayable:
                source.seek(self._start)
            yield from _read(source)
        else:
            yield from source


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while True:
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            return
        yield chunk.encode() if isinstance(chunk, str) else chunk


class Download:
    """Bytes that arrive, possibly in several attempts, in a file that appears only when it is whole."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self._part = target.with_name(f".{target.name}.{os.getpid()}-{id(self):x}.part")
        self._file: Optional[IO[bytes]] = None
        self._hash = hashlib.sha256()
        self.size = 0

    def __enter__(self) -> Download:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self._part, "xb")
        return self

    def write(self, chunk: bytes) -> None:
        assert self._file is not None
        self._file.write(chunk)
        self._hash.update(chunk)
        self.size += len(chunk)

    def restart(self) -> None:
        assert self._file is not None
        self._file.seek(0)
        self._file.truncate()
        self._hash = hashlib.sha256()
        self.size = 0

    def finish(self, sha256: Optional[str]) -> None:
        assert self._file is not None
        self._file.close()
        check_sha256(self._hash.hexdigest(), sha256, str(self.target))
        os.replace(self._part, self.target)

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()
        self._part.unlink(missing_ok=True)


def check_sha256(actual: str, expected: Optional[str], what: str) -> None:
    if expected and actual != expected:
        raise CorruptDownloadError(
            "CORRUPT_DOWNLOAD",
            f"{what} has SHA-256 {actual}, not {expected}",
            hint="Download it again.",
            retryable=True,
        )


def unpack(tar: Path, folder: Path) -> list[Path]:
    """Unpacks the tar of a session's folder. Its makers are not trusted: only plain files and folders below
    ``folder`` are written, never through a link."""
    written = []
    root = folder.resolve()
    with tarfile.open(tar) as archive:
        for member in archive:
            parts = PurePosixPath(member.name).parts
            if member.name.startswith("/") or ".." in parts or "\\" in member.name:
                raise SandbarError("UNSAFE_ARCHIVE", f"the archive holds the path {member.name!r}")
            target = root.joinpath(*parts)
            if target.parent.resolve() != target.parent and target != root:
                raise SandbarError("UNSAFE_ARCHIVE", f"{member.name!r} leads through a link")
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                if target.is_symlink():
                    target.unlink()
                source = archive.extractfile(member)
                assert source is not None
                with source, open(target, "wb") as file:
                    for chunk in _read(source):
                        file.write(chunk)
                written.append(target)
    return written


def files_below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each plain file below the folder with its relative POSIX path."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(base) / name
            if path.is_file():
                yield path, path.relative_to(folder).as_posix()
