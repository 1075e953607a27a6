"""What operators and admins look after: hosts, keys, dataset sources, volumes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Optional
from urllib.parse import quote

from .._models import ApiKey, DatasetSource, Enrollment, Host, HostLoad, Volume
from ._http import AsyncHttp


class AsyncHosts:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[Host]:
        async for item in self._http.items("/v1/hosts"):
            yield Host.parse(item)

    async def get(self, host_id: str) -> Host:
        return Host.parse(await self._http.call("GET", _host(host_id)))

    async def load(self, host_id: str) -> HostLoad:
        """How busy it is, as the host itself says: load, memory, disk, warm pool."""
        return HostLoad.parse(await self._http.call("GET", f"{_host(host_id)}/load"))

    async def enroll(self) -> Enrollment:
        """A token with which one machine may join, once, within 15 minutes."""
        return Enrollment.parse(await self._http.call("POST", "/v1/hosts/enrollments"))

    async def cordon(self, host_id: str) -> None:
        """Places nothing new there."""
        await self._http.call("POST", f"{_host(host_id)}/cordon", idempotent=True)

    async def uncordon(self, host_id: str) -> None:
        await self._http.call("POST", f"{_host(host_id)}/uncordon", idempotent=True)

    async def drain(self, host_id: str) -> None:
        """Cordons, and stops its sessions."""
        await self._http.call("POST", f"{_host(host_id)}/drain", idempotent=True)

    async def delete(self, host_id: str) -> None:
        await self._http.call("DELETE", _host(host_id))


class AsyncKeys:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[ApiKey]:
        async for item in self._http.items("/v1/keys"):
            yield ApiKey.parse(item)

    async def create(
        self,
        name: str,
        scopes: Iterable[str],
        *,
        tenant: Optional[str] = None,
        expires_at: Optional[str] = None,
    ) -> ApiKey:
        """``secret`` is in this answer and nowhere else."""
        body = {"name": name, "scopes": [*scopes], "tenant": tenant, "expires_at": expires_at}
        return ApiKey.parse(await self._http.call("POST", "/v1/keys", json=_given(body)))

    async def delete(self, key_id: str) -> None:
        await self._http.call("DELETE", f"/v1/keys/{quote(key_id, safe='')}")


class AsyncDatasetSources:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[DatasetSource]:
        async for item in self._http.items("/v1/dataset-sources"):
            yield DatasetSource.parse(item)

    async def create(
        self,
        name: str,
        url_template: str,
        *,
        headers: Optional[Mapping[str, str]] = None,
        **options: Any,
    ) -> DatasetSource:
        """``url_template`` has ``{id}``, and ``{version}`` where the source keeps several; ``headers`` are never
        shown again. Other fields of the route, ``tenant`` say, by their names."""
        body = {"name": name, "url_template": url_template, "headers": headers, **options}
        return DatasetSource.parse(await self._http.call("POST", "/v1/dataset-sources", json=_given(body)))

    async def delete(self, source_id: str) -> None:
        await self._http.call("DELETE", f"/v1/dataset-sources/{quote(source_id, safe='')}")


class AsyncVolumes:
    """Folders of the tenant that outlive sessions; ``session(volumes=[{"name", "path"}])`` mounts them."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[Volume]:
        async for item in self._http.items("/v1/volumes"):
            yield Volume.parse(item)

    async def create(self, name: str, *, size_mb: Optional[int] = None) -> Volume:
        body = _given({"name": name, "size_mb": size_mb})
        return Volume.parse(await self._http.call("POST", "/v1/volumes", json=body))

    async def delete(self, name_or_id: str) -> None:
        await self._http.call("DELETE", f"/v1/volumes/{quote(name_or_id, safe='')}")


def _host(host_id: str) -> str:
    return f"/v1/hosts/{quote(host_id, safe='')}"


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
