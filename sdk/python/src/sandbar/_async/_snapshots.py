"""Snapshots: what sessions were, kept outside of them, for others to begin with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Optional, Union
from urllib.parse import quote

from .._models import Snapshot
from ._http import AsyncHttp
from ._runtime import bytes_of, leave

SnapshotRef = Union[Snapshot, str]


class AsyncSnapshots:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self, *, session_id: Optional[str] = None, name: Optional[str] = None
    ) -> AsyncIterator[Snapshot]:
        """Newest first."""
        async for item in self._http.items("/v1/snapshots", {"session_id": session_id, "name": name}):
            yield Snapshot.parse(item)

    async def get(self, snapshot: SnapshotRef) -> Snapshot:
        return Snapshot.parse(await self._http.call("GET", _path(snapshot)))

    async def download(self, snapshot: SnapshotRef) -> AsyncIterator[bytes]:
        """All of it as one file, as it comes: docs/snapshots.md has the format."""
        headers = {"accept": "*/*"}
        path = f"{_path(snapshot)}/content"
        response = await self._http.send("GET", path, headers=headers, timeout_s=120.0, stream=True)
        try:
            async for chunk in bytes_of(response):
                yield chunk
        finally:
            await leave(response)

    async def delete(self, snapshot: SnapshotRef) -> None:
        await self._http.call("DELETE", _path(snapshot))


def _path(snapshot: SnapshotRef) -> str:
    return f"/v1/snapshots/{quote(snapshot.id if isinstance(snapshot, Snapshot) else snapshot, safe='')}"
