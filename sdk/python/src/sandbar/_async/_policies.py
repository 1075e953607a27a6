"""What tenants may do and how much they may have, for operators; ``*`` stands for all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

from .._models import TenantPolicy
from ._http import AsyncHttp

PATH = "/v1/policies"


class AsyncPolicies:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[TenantPolicy]:
        """Those that were set."""
        async for item in self._http.items(PATH):
            yield TenantPolicy.parse(item)

    async def get(self, tenant: str) -> TenantPolicy:
        return TenantPolicy.parse(await self._http.call("GET", _path(tenant)))

    async def put(self, tenant: str, policy: Mapping[str, Any]) -> TenantPolicy:
        """``put("acme", {"allow": {"egress": False}, "shares": {"sessions": 5}})``, instead of the one before."""
        return TenantPolicy.parse(await self._http.call("PUT", _path(tenant), json=policy))

    async def remove(self, tenant: str) -> None:
        await self._http.call("DELETE", _path(tenant))


def _path(tenant: str) -> str:
    return f"{PATH}/{quote(tenant, safe='')}"
