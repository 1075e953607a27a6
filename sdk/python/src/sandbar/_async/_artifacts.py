"""Artifacts: files that outlive their session, named by what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Optional, Union
from urllib.parse import quote

import httpx

from .._content import Download, check_sha256
from .._errors import connection_failed
from .._models import Artifact, Link
from .._retry import backoff_s
from ._files import LocalPath
from ._http import AsyncHttp
from ._runtime import bytes_of, in_thread, leave, sleep

ArtifactRef = Union[Artifact, str]


class AsyncArtifacts:
    def __init__(self, http: AsyncHttp, list_path: str = "/v1/artifacts") -> None:
        self._http = http
        self._list_path = list_path

    async def list(self) -> list[Artifact]:
        return [item async for item in self.iterate()]

    async def iterate(self) -> AsyncIterator[Artifact]:
        async for item in self._http.items(self._list_path):
            yield Artifact.parse(item)

    async def get(self, artifact_id: str) -> Artifact:
        return Artifact.parse(await self._http.call("GET", f"/v1/artifacts/{_id(artifact_id)}"))

    async def link(self, artifact: ArtifactRef, *, expires_in_s: Optional[int] = None) -> Link:
        """A URL that anybody can open until it expires."""
        body = {} if expires_in_s is None else {"expires_in_s": expires_in_s}
        answer = await self._http.call(
            "POST", f"/v1/artifacts/{_id(artifact)}/link", json=body, idempotent=True
        )
        link = Link.parse(answer)
        if link.url.startswith("/"):
            return Link(raw=link.raw, url=self._http.config.url + link.url, expires_at=link.expires_at)
        return link

    async def read(self, artifact: ArtifactRef) -> bytes:
        """The bytes, checked against their SHA-256."""
        known = await self._known(artifact)
        link = await self.link(known)
        response = await self._http.send("GET", link.url, headers={"accept": "*/*"}, timeout_s=120.0)
        check_sha256(hashlib.sha256(response.content).hexdigest(), known.sha256, known.name)
        return response.content

    async def read_text(self, artifact: ArtifactRef, encoding: str = "utf-8") -> str:
        return (await self.read(artifact)).decode(encoding)

    async def read_range(self, artifact: ArtifactRef, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to, and without, ``end``: for a look into large ones."""
        headers = {"accept": "*/*", "range": f"bytes={start}-{end - 1}"}
        path = f"/v1/artifacts/{_id(artifact)}/content"
        response = await self._http.send("GET", path, headers=headers, timeout_s=120.0)
        return response.content

    async def stream(self, artifact: ArtifactRef, *, start: int = 0) -> AsyncIterator[bytes]:
        """The bytes as they come, from ``start`` on; for large artifacts and for going on after a cut."""
        link = await self.link(artifact)
        headers = {"accept": "*/*", **({"range": f"bytes={start}-"} if start else {})}
        response = await self._http.send("GET", link.url, headers=headers, timeout_s=120.0, stream=True)
        try:
            async for chunk in bytes_of(response):
                yield chunk
        finally:
            await leave(response)

    async def save(self, artifact: ArtifactRef, local: Optional[LocalPath] = None) -> Path:
        """Downloads to a file (or into a folder). A cut download goes on where it stopped."""
        known = await self._known(artifact)
        target = Path(local) if local is not None else Path()
        if target.is_dir():
            # The name was chosen inside the sandbox: only its last part is a file name.
            target = target / (known.name.replace("\\", "/").rsplit("/", 1)[-1].lstrip(".") or known.id)
        link = await self.link(known)
        failures = 0
        with Download(target) as download:
            while download.size < known.size or (known.size == 0 and failures == 0):
                before = download.size
                try:
                    await self._fetch(link.url, download)
                    failures = failures if download.size > before else failures + 1
                    cause: Exception = EOFError("the download ended early")
                except httpx.TransportError as error:
                    failures = 1 if download.size > before else failures + 1
                    cause = error
                if download.size < known.size:
                    if failures > self._http.config.max_retries:
                        raise connection_failed(cause, timed_out=False) from cause
                    await sleep(backoff_s(failures))
            download.finish(known.sha256)
        return target

    async def delete(self, artifact: ArtifactRef) -> None:
        await self._http.call("DELETE", f"/v1/artifacts/{_id(artifact)}")

    async def _known(self, artifact: ArtifactRef) -> Artifact:
        return artifact if isinstance(artifact, Artifact) else await self.get(artifact)

    async def _fetch(self, url: str, download: Download) -> None:
        headers = {"accept": "*/*"}
        if download.size:
            headers["range"] = f"bytes={download.size}-"
        response = await self._http.send("GET", url, headers=headers, timeout_s=120.0, stream=True)
        try:
            if response.status_code != 206:
                download.restart()
            async for chunk in bytes_of(response):
                await in_thread(download.write, chunk)
        finally:
            await leave(response)


class AsyncSessionArtifacts(AsyncArtifacts):
    """The artifacts of one session; ``list`` shows only them."""

    def __init__(self, http: AsyncHttp, path: str) -> None:
        super().__init__(http, f"{path}/artifacts")


def _id(artifact: ArtifactRef) -> str:
    return quote(artifact.id if isinstance(artifact, Artifact) else artifact, safe="")
