"""Files of a session. Relative paths start at /session."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import Callable, Optional, Union

import httpx

from .._content import AsyncSource, Content, Download, files_below, if_match_header, unpack
from .._errors import ConnectionFailedError, NotFoundError, connection_failed
from .._models import FileChange, FileEntry, FileStat, Written
from .._retry import backoff_s
from ._events import server_events
from ._http import AsyncHttp
from ._runtime import bytes_of, in_thread, leave, sleep

LocalPath = Union[str, "os.PathLike[str]"]
Paths = list[Path]
TRANSFER_S = 120.0


class AsyncFiles:
    def __init__(self, http: AsyncHttp, path: str) -> None:
        self._http = http
        self._path = f"{path}/files"

    async def read(self, path: str) -> bytes:
        response = await self._http.send(
            "GET", self._path, params={"path": path}, headers={"accept": "*/*"}, timeout_s=TRANSFER_S
        )
        return response.content

    async def read_text(self, path: str, encoding: str = "utf-8") -> str:
        return (await self.read(path)).decode(encoding)

    async def read_chunks(self, path: str) -> AsyncIterator[bytes]:
        response = await self._http.send(
            "GET",
            self._path,
            params={"path": path},
            headers={"accept": "*/*"},
            timeout_s=TRANSFER_S,
            stream=True,
        )
        try:
            async for chunk in bytes_of(response):
                yield chunk
        except httpx.TransportError as cause:
            raise connection_failed(cause, timed_out=isinstance(cause, httpx.TimeoutException)) from cause
        finally:
            await leave(response)

    async def write(
        self,
        path: str,
        content: AsyncSource,
        *,
        mode: Optional[str] = None,
        if_match: Optional[str] = None,
    ) -> Written:
        """Writes bytes, text, a ``Path``, an open file or chunks; folders on the way are made. ``mode`` is octal.
        With ``if_match``, an etag that ``stat`` or an earlier write told, it fails with ``ETAG_MISMATCH`` when the
        file has changed."""
        headers = None if if_match is None else {"if-match": if_match_header(if_match)}
        answer = await self._http.call(
            "PUT",
            self._path,
            params={"path": path, "mode": mode},
            content=Content(content),
            headers=headers,
            timeout_s=TRANSFER_S,
        )
        return Written.parse(answer or {})

    async def list(self, path: str = ".", *, depth: Optional[int] = None) -> list[FileEntry]:
        items = self._http.items(f"{self._path}/list", {"path": path, "depth": depth})
        return [FileEntry.parse(item) async for item in items]

    async def stat(self, path: str) -> FileStat:
        headers = (await self._http.send("HEAD", self._path, params={"path": path})).headers
        size = headers.get("content-length")
        return FileStat(
            size=int(size) if size is not None else None,
            mime=headers.get("content-type"),
            etag=headers.get("etag"),
            last_modified=headers.get("last-modified"),
        )

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except NotFoundError:
            return False
        return True

    async def delete(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file; ``recursive`` removes a folder with all it holds."""
        params = {"path": path, "recursive": True if recursive else None}
        await self._http.call("DELETE", self._path, params=params, timeout_s=TRANSFER_S)

    async def mkdir(self, path: str) -> FileEntry:
        """Makes a folder and those above it."""
        answer = await self._http.call("POST", f"{self._path}/mkdir", json={"path": path}, idempotent=True)
        return FileEntry.parse(answer)

    async def move(self, source: str, target: str, *, overwrite: bool = False) -> FileEntry:
        body = {"from": source, "to": target, "overwrite": overwrite}
        return FileEntry.parse(await self._http.call("POST", f"{self._path}/move", json=body))

    async def watch(
        self,
        path: str = ".",
        *,
        recursive: bool = False,
        on_ready: Optional[Callable[[], object]] = None,
    ) -> AsyncIterator[FileChange]:
        """Changes below a folder, from when ``on_ready`` is called until the loop is left."""
        params = {"path": path, "recursive": True if recursive else None}
        async for raw in server_events(
            self._http, f"{self._path}/watch", params=params, resume=False, on_open=on_ready
        ):
            yield FileChange.parse(json.loads(raw.data))

    async def extract(self, path: str, archive: AsyncSource, *, gzip: bool = False) -> Written:
        """Unpacks a tar archive below a path: all of it, or nothing."""
        headers = {"content-type": "application/gzip" if gzip else "application/x-tar"}
        answer = await self._http.call(
            "PUT",
            self._path,
            params={"path": path, "extract": True},
            headers=headers,
            content=Content(archive),
            timeout_s=TRANSFER_S,
        )
        return Written.parse(answer or {})

    async def upload(self, local: LocalPath, path: Optional[str] = None) -> None:
        """Copies a file, or a folder with all its files, into the session."""
        source = Path(local)
        target = path if path is not None else source.name
        if not source.is_dir():
            await self.write(target, source)
            return
        for file, relative in await in_thread(lambda: list(files_below(source))):
            await self.write(str(PurePosixPath(target) / relative), file)

    async def download(self, path: str, local: Optional[LocalPath] = None) -> Path:
        """Copies a file out of the session. The local file appears only when it is whole."""
        name = PurePosixPath(path).name
        target = Path(local) if local is not None else Path(name)
        if target.is_dir():
            target = target / name
        attempt = 0
        with Download(target) as download:
            while True:
                try:
                    async for chunk in self.read_chunks(path):
                        await in_thread(download.write, chunk)
                    break
                except ConnectionFailedError:
                    if attempt >= self._http.config.max_retries:
                        raise
                await sleep(backoff_s(attempt))
                attempt += 1
                download.restart()
            download.finish(None)
        return target

    async def download_folder(self, path: str, local: LocalPath) -> Paths:
        """Copies a folder out of the session; links and special files are left behind."""
        folder = Path(local)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            tar = await self.download(path, Path(temporary) / "folder.tar")
            return await in_thread(unpack, tar, folder)
