"""Datasets of a session."""

from __future__ import annotations

from typing import Any, Callable, Optional
from urllib.parse import quote

from .._content import Content
from .._models import Artifact, Dataset, DatasetList
from ._http import AsyncHttp
from ._runtime import outcome_of

TRANSFER_S = 300.0


class AsyncDatasets:
    def __init__(self, http: AsyncHttp, path: str) -> None:
        self._http = http
        self._path = f"{path}/datasets"

    async def select(
        self,
        dataset_id: str,
        fetch_fn: Optional[Callable[..., Any]] = None,
        *,
        client: Any = None,
        source: Optional[str] = None,
        artifact_id: Optional[str] = None,
        sha256: Optional[str] = None,
        version: Optional[str] = None,
    ) -> Dataset:
        """Stages a dataset in the session.

        With ``fetch_fn`` the bytes come from the caller: ``fetch_fn(dataset_id)``, or ``fetch_fn(client,
        dataset_id)`` when a client is given, returns anything that ``files.write`` takes. Without it the server
        fetches them from a registered ``source`` or an artifact.
        """
        if fetch_fn is None:
            body = {
                "id": dataset_id,
                "source": source,
                "artifact_id": artifact_id,
                "sha256": sha256,
                "version": version,
            }
            body = {name: value for name, value in body.items() if value is not None}
            answer = await self._http.call(
                "POST", self._path, json=body, idempotent=True, timeout_s=TRANSFER_S
            )
            return Dataset.parse(answer)
        fetched = await outcome_of(fetch_fn(dataset_id) if client is None else fetch_fn(client, dataset_id))
        return await self.put(dataset_id, fetched)

    async def put(self, dataset_id: str, content: Any) -> Dataset:
        """Stages bytes, text, a ``Path``, an open file or chunks as a dataset."""
        answer = await self._http.call(
            "PUT",
            f"{self._path}/{quote(dataset_id, safe='')}",
            content=Content(content),
            timeout_s=TRANSFER_S,
        )
        return Dataset.parse(answer)

    async def list(self) -> DatasetList:
        return DatasetList.parse(await self._http.call("GET", self._path))

    async def delete(self, dataset_id: str) -> None:
        """Takes it out of the session."""
        await self._http.call("DELETE", f"{self._path}/{quote(dataset_id, safe='')}")

    async def export(self, dataset_id: str) -> Artifact:
        """Keeps the dataset, as it is now, as an artifact whose name carries the time."""
        answer = await self._http.call(
            "POST", f"{self._path}/{quote(dataset_id, safe='')}/export", timeout_s=TRANSFER_S
        )
        return Artifact.parse(answer)
