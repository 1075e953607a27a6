"""All tools of one agent, on one kind of session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

from langchain_core.tools import StructuredTool

from ._code_tools import make_code_sandbox_tool, make_terminal_tool
from ._dataset_tools import make_export_datasets_tool, make_list_datasets_tool, make_select_dataset_tool
from ._file_tools import make_export_files_tool, make_import_files_tool
from ._sandboxes import Client, SessionKeyFn


def make_sandbox_tools(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    timeout_s: Optional[float] = None,
    fetch_fn: Optional[Callable[..., Any]] = None,
    fetch_client: Any = None,
) -> list[StructuredTool]:
    """All tools on one session specification; those of datasets only when it has any, no terminal for ``engine="wasm"``."""
    common: dict[str, Any] = {"session_key_fn": session_key_fn, "session": session or {}}
    tools = [
        make_code_sandbox_tool(client, timeout_s=timeout_s, **common),
        make_import_files_tool(client, **common),
        make_export_files_tool(client, **common),
    ]
    if (session or {}).get("engine") != "wasm":
        tools.insert(1, make_terminal_tool(client, timeout_s=timeout_s, **common))
    datasets = (session or {}).get("datasets") or "NONE"
    access = datasets if isinstance(datasets, str) else datasets.get("access", "NONE")
    if access != "NONE":
        tools.append(make_list_datasets_tool(client, **common))
    if access == "API":
        tools.append(make_select_dataset_tool(client, fetch_fn=fetch_fn, fetch_client=fetch_client, **common))
        tools.append(make_export_datasets_tool(client, **common))
    return tools
