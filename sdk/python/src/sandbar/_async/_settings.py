"""The agent's settings: its model, keys and manners, of the caller's tenant."""

from __future__ import annotations

from typing import Any

from .._models import ModelChoice, ModelTest, Settings
from ._http import AsyncHttp

PATH = "/v1/settings"


class AsyncAgentSettings:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def get(self) -> Settings:
        """Of keys only that they are set, and their last four characters."""
        return Settings.parse(await self._http.call("GET", PATH))

    async def update(self, **changes: Any) -> Settings:
        """``update(model="anthropic:…", api_key="…")``: the rest stays; ``None`` takes one back to the operator's."""
        return Settings.parse(await self._http.call("PUT", PATH, json=changes))

    async def test(self, **changes: Any) -> ModelTest:
        """One real call to the model, with these changes if there are any; what the provider said."""
        return ModelTest.parse(await self._http.call("POST", f"{PATH}/test", json=changes, timeout_s=120))

    async def models(self) -> list[ModelChoice]:
        """Which providers can be asked, and the models of an Ollama that runs."""
        answer = await self._http.call("GET", f"{PATH}/models")
        return [ModelChoice.parse(item) for item in answer["providers"]]
