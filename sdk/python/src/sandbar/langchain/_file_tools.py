"""Tools that bring files into a session and keep its files as artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from .._async._session import AsyncSession
from .._models import Model
from .._sync._session import Session
from ._sandboxes import Client, Sandboxes, SessionKeyFn
from ._tool import Answer, make_tool


class _ImportFile(BaseModel):
    destination: str = Field(description="Where the file goes in the session, e.g. /session/data/input.csv.")
    content: Optional[str] = Field(None, description="The content itself.")
    encoding: Optional[str] = Field(None, description="base64 when the content is; otherwise leave it out.")
    session_id: Optional[str] = Field(None, description="Take the file from this other session; needs path.")
    path: Optional[str] = Field(None, description="The file's path in that other session.")
    artifact_id: Optional[str] = Field(None, description="Take the bytes of this artifact.")
    source: Optional[str] = Field(None, description="A source on the host that the operator allows.")


class _ImportArgs(BaseModel):
    files: list[_ImportFile] = Field(description="The files to bring into the session.")


class _ExportFile(BaseModel):
    source: str = Field(description="The file's path in the session.")
    name: Optional[str] = Field(None, description="The artifact's name, when it should differ.")


class _ExportArgs(BaseModel):
    files: list[_ExportFile] = Field(description="The files to keep as artifacts.")


def make_import_files_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "import_files",
    description: str = "Bring files into the sandbox: content, files of another session, or artifacts.",
) -> StructuredTool:
    def work(s: Session, _: Optional[str], files: list[Any]) -> Answer:
        return _file_answers(s.import_files(_plain(files)))

    async def awork(s: AsyncSession, _: Optional[str], files: list[Any]) -> Answer:
        return _file_answers(await s.import_files(_plain(files)))

    return make_tool(name, description, _ImportArgs, Sandboxes(client, session_key_fn, session), work, awork)


def make_export_files_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    name: str = "export_files",
    description: str = "Keep files of the sandbox as artifacts that the user can download.",
) -> StructuredTool:
    def work(s: Session, _: Optional[str], files: list[Any]) -> Answer:
        return _file_answers(s.export_files(_plain(files)))

    async def awork(s: AsyncSession, _: Optional[str], files: list[Any]) -> Answer:
        return _file_answers(await s.export_files(_plain(files)))

    return make_tool(name, description, _ExportArgs, Sandboxes(client, session_key_fn, session), work, awork)


def _file_answers(answers: list[Any]) -> Answer:
    items: list[Model] = answers
    plain = [item.to_dict() for item in items]
    return "\n".join(_file_line(item) for item in answers), plain


def _file_line(item: Any) -> str:
    name = getattr(item, "destination", None) or getattr(item, "source", "")
    if not item.ok:
        error = item.error
        if isinstance(error, dict):
            error = f"{error.get('code')}: {error.get('detail')}"
        return f"{name}: failed: {error}"
    artifact = getattr(item, "artifact", None)
    if artifact is not None:
        return f"{name}: artifact {artifact.name} ({artifact.size} bytes): {artifact.id}"
    return f"{name}: {item.size} bytes"


def _plain(files: list[Any]) -> list[dict[str, Any]]:
    return [
        file.model_dump(exclude_none=True) if isinstance(file, BaseModel) else dict(file) for file in files
    ]
