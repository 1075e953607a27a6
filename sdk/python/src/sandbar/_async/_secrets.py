"""Secrets that a tenant keeps for the network of its sessions. Values go in and never come out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from urllib.parse import quote

from .._models import Secret
from ._http import AsyncHttp

PATH = "/v1/secrets"


class AsyncSecrets:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[Secret]:
        """By name, without values."""
        for item in (await self._http.call("GET", PATH))["data"]:
            yield Secret.parse(item)

    async def put(self, name: str, value: str, *, hosts: Iterable[str] = ()) -> Secret:
        """A new one, or another value; ``hosts`` says where it may be sent, nowhere else."""
        body = {"value": value, "hosts": [*hosts]}
        return Secret.parse(await self._http.call("PUT", _path(name), json=body))

    async def remove(self, name: str) -> None:
        await self._http.call("DELETE", _path(name))


def _path(name: str) -> str:
    return f"{PATH}/{quote(name, safe='')}"
