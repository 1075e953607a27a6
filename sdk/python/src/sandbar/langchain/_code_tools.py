"""Tools that run code and shell commands, with live output in LangGraph's ``custom`` stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from .._async._session import AsyncSession
from .._models import Event
from .._sync._session import Session
from ._render import IMAGE_LIMIT_BYTES, OUTPUT_LIMIT_CHARS, execution_answer
from ._sandboxes import WASM_NOTICE, Client, Sandboxes, SessionKeyFn
from ._tool import Answer, current_tool_call_id, make_tool


class _CodeArgs(BaseModel):
    code: str = Field(description="The code to run. Variables and imports of earlier calls are still there.")


class _CommandArgs(BaseModel):
    command: str = Field(description="The shell command. The working directory of earlier calls is kept.")


def make_code_sandbox_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    timeout_s: Optional[float] = None,
    language: Optional[str] = None,
    image_limit_bytes: int = IMAGE_LIMIT_BYTES,
    output_limit_chars: int = OUTPUT_LIMIT_CHARS,
    name: str = "code_sandbox",
    description: Optional[str] = None,
) -> StructuredTool:
    """Runs code in the thread's session. In a LangGraph run live output goes to the stream writer (``custom`` mode).

    ``image_limit_bytes=0`` keeps images out of the message, for models that take none in tool results.
    """
    spec = session or {}
    chosen = language or spec.get("runtime") or "python"
    run, arun = _runner(language, timeout_s, image_limit_bytes, output_limit_chars)
    return make_tool(
        name,
        description
        or f"Run {chosen} code in a sandbox. State persists between calls. Files saved in /session/artifacts "
        "are kept and can be downloaded by the user."
        + (f" {WASM_NOTICE}" if spec.get("engine") == "wasm" else ""),
        _CodeArgs,
        Sandboxes(client, session_key_fn, session),
        lambda s, key, code: run(s, key, code),
        lambda s, key, code: arun(s, key, code),
    )


def make_terminal_tool(
    client: Optional[Client] = None,
    *,
    session_key_fn: Optional[SessionKeyFn] = None,
    session: Optional[Mapping[str, Any]] = None,
    timeout_s: Optional[float] = None,
    output_limit_chars: int = OUTPUT_LIMIT_CHARS,
    name: str = "terminal",
    description: str = (
        "Run a shell command in the sandbox. The working directory and variables persist between calls."
    ),
) -> StructuredTool:
    """Runs shell commands in the thread's session."""
    run, arun = _runner("bash", timeout_s, 0, output_limit_chars)
    return make_tool(
        name,
        description,
        _CommandArgs,
        Sandboxes(client, session_key_fn, session),
        lambda s, key, command: run(s, key, command),
        lambda s, key, command: arun(s, key, command),
    )


def _runner(
    language: Optional[str], timeout_s: Optional[float], image_limit: int, output_limit: int
) -> tuple[
    Callable[[Session, Optional[str], str], Answer], Callable[[AsyncSession, Optional[str], str], Any]
]:
    def run(session: Session, key: Optional[str], code: str) -> Answer:
        writer = _stream_writer()
        if writer is None:
            execution = session.run(code, language=language, timeout_s=timeout_s, idempotency_key=key)
        else:
            with session.stream(code, language=language, timeout_s=timeout_s, idempotency_key=key) as events:
                for event in events:
                    _tell(writer, event)
            execution = events.result()
        return execution_answer(execution, image_limit, output_limit)

    async def arun(session: AsyncSession, key: Optional[str], code: str) -> Answer:
        writer = _stream_writer()
        if writer is None:
            execution = await session.run(code, language=language, timeout_s=timeout_s, idempotency_key=key)
        else:
            async with session.stream(
                code, language=language, timeout_s=timeout_s, idempotency_key=key
            ) as events:
                async for event in events:
                    _tell(writer, event)
            execution = await events.result()
        return execution_answer(execution, image_limit, output_limit)

    return run, arun


def _stream_writer() -> Optional[Callable[[Any], None]]:
    try:
        from langgraph.config import get_stream_writer
    except ImportError:
        return None
    try:
        writer: Callable[[Any], None] = get_stream_writer()
        return writer
    except Exception:
        # Outside of a graph there is no run whose stream it could be.
        return None


def _tell(writer: Callable[[Any], None], event: Event) -> None:
    call = {"tool_call_id": current_tool_call_id.get()}
    if event.type in ("stdout", "stderr"):
        writer({"type": event.type, "text": event.text, **call})
    elif event.type == "artifact":
        writer({"type": "artifact", "artifact": dict(event.data), **call})
