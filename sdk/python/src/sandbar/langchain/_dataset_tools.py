"""Tools that stage, list and export datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, Field

from .._async._session import AsyncSession
from .._sync._session import Session
from ._sandboxes import Client, Sandboxes, SessionKeyFn
from ._tool import Answer, make_tool


class _SelectArgs(BaseModel):
    dataset_id: str = Field(description="The id of the dataset.")


class _ExportDatasetArgs(BaseModel):
    dataset_id: str = Field(description="The id of the dataset, as list_datasets shows it.")


class _NoArgs(BaseModel):
    pass


def make_select_dataset_tool(
    client: Optional[Client] = None,
    *,
    fetch_fn: Optional[Callable[..., Any]] = None,
    fetch_client: Any = None,
    source: Optional[str] = None,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "select_dataset",
    description: str = "Load a dataset into the sandbox by its id. Answers the path where it can be read.",
) -> StructuredTool:
    """Stages a dataset: from ``fetch_fn(dataset_id)`` (``fetch_fn(fetch_client, dataset_id)`` when one is given), or
    from a source that the operator registered. The session needs ``datasets="API"``."""

    def work(s: Session, _: Optional[str], dataset_id: str) -> Answer:
        return _dataset(s.datasets.select(dataset_id, fetch_fn, client=fetch_client, source=source))

    async def awork(s: AsyncSession, _: Optional[str], dataset_id: str) -> Answer:
        return _dataset(await s.datasets.select(dataset_id, fetch_fn, client=fetch_client, source=source))

    spec = session if session is not None else {"datasets": "API"}
    return make_tool(name, description, _SelectArgs, Sandboxes(client, session_key_fn, spec), work, awork)


def make_export_datasets_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "export_dataset",
    description: str = "Keep a dataset of the sandbox, with the changes made to it, as a file the user can download.",
) -> StructuredTool:
    def work(s: Session, _: Optional[str], dataset_id: str) -> Answer:
        return _exported_dataset(dataset_id, s.datasets.export(dataset_id))

    async def awork(s: AsyncSession, _: Optional[str], dataset_id: str) -> Answer:
        return _exported_dataset(dataset_id, await s.datasets.export(dataset_id))

    spec = session if session is not None else {"datasets": "API"}
    return make_tool(
        name, description, _ExportDatasetArgs, Sandboxes(client, session_key_fn, spec), work, awork
    )


def make_list_datasets_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "list_datasets",
    description: str = "List the datasets in the sandbox, with their paths and sizes.",
) -> StructuredTool:
    def work(s: Session, _: Optional[str]) -> Answer:
        return _dataset_list(s.datasets.list())

    async def awork(s: AsyncSession, _: Optional[str]) -> Answer:
        return _dataset_list(await s.datasets.list())

    spec = session if session is not None else {"datasets": "API"}
    return make_tool(name, description, _NoArgs, Sandboxes(client, session_key_fn, spec), work, awork)


def _dataset(dataset: Any) -> Answer:
    if dataset.status == "FAILED":
        raise ToolException(f"dataset {dataset.id} could not be loaded: {dataset.error}")
    return (
        f"dataset {dataset.id} is {dataset.status} at {dataset.path} ({dataset.size} bytes)",
        dataset.to_dict(),
    )


def _exported_dataset(dataset_id: str, artifact: Any) -> Answer:
    text = f"dataset {dataset_id} exported as {artifact.name} ({artifact.size} bytes): {artifact.id}"
    return text, artifact.to_dict()


def _dataset_list(datasets: Any) -> Answer:
    if datasets.access == "NONE":
        return "This sandbox has no datasets.", datasets.to_dict()
    lines = [f"- {item.id}: {item.status}, {item.path}, {item.size} bytes" for item in datasets.data]
    return "\n".join(lines) or "No datasets yet.", datasets.to_dict()
