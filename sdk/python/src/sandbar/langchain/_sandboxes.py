"""Which session a tool call works in: by default one per LangGraph thread."""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import Mapping
from typing import Any, Callable, Optional, Union

from langchain_core.runnables import RunnableConfig

from .._async._client import AsyncSandbar
from .._async._session import AsyncSession
from .._sync._client import Sandbar
from .._sync._session import Session

Client = Union[Sandbar, AsyncSandbar]
SessionKeyFn = Callable[..., str]

#: What a model has to know of a session that is no container.
WASM_NOTICE = (
    "The sandbox runs Python in WebAssembly (Pyodide): no other language, no shell, no child processes, no threads, "
    "no servers."
)


class Sandboxes:
    """Finds the session of a call. Sync calls use a blocking client, async ones a client of their event loop."""

    def __init__(
        self,
        client: Optional[Client],
        session_key_fn: Optional[SessionKeyFn],
        spec: Optional[Mapping[str, Any]],
    ) -> None:
        self._client = client
        self._key_fn = session_key_fn
        self._takes_config = session_key_fn is not None and _takes_an_argument(session_key_fn)
        self._spec = dict(spec or {})
        self._blocking: Optional[Sandbar] = client if isinstance(client, Sandbar) else None
        self._told: set[str] = set()
        # A connection pool cannot be used from two event loops.
        self._by_loop: weakref.WeakKeyDictionary[Any, AsyncSandbar] = weakref.WeakKeyDictionary()

    def key(self, config: Optional[RunnableConfig]) -> str:
        if self._key_fn is not None:
            return str(self._key_fn(config) if self._takes_config else self._key_fn())
        thread_id = ((config or {}).get("configurable") or {}).get("thread_id")
        if thread_id is None or str(thread_id) == "":
            raise ValueError(
                "no session key: call the graph with {'configurable': {'thread_id': ...}} or give session_key_fn"
            )
        return str(thread_id)

    def session(self, config: Optional[RunnableConfig]) -> Session:
        key = self.key(config)
        if self._blocking is None:
            self._blocking = Sandbar(**self._options())
        return self._blocking.session(key, **self._spec)

    async def asession(self, config: Optional[RunnableConfig]) -> AsyncSession:
        key = self.key(config)
        if isinstance(self._client, AsyncSandbar):
            return await self._client.session(key, **self._spec)
        loop = asyncio.get_running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            client = self._by_loop[loop] = AsyncSandbar(**self._options())
        return await client.session(key, **self._spec)

    def notice(self, session: Union[Session, AsyncSession]) -> Optional[str]:
        """Told once of a session that is not what one expects; who asked for it by name has it in the description."""
        if session.info.engine != "wasm" or self._spec.get("engine") == "wasm" or session.id in self._told:
            return None
        self._told.add(session.id)
        return WASM_NOTICE

    def _options(self) -> dict[str, Any]:
        if self._client is None:
            return {}
        config = self._client.config
        return {
            "url": config.url,
            "api_key": config.api_key,
            "timeout_s": config.timeout_s,
            "max_retries": config.max_retries,
        }


def _takes_an_argument(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD) for item in parameters)
