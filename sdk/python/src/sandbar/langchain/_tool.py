"""One LangChain tool on a sandbox: blocking and asynchronous, with refusals that the model can read."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Callable, Optional
from urllib.parse import quote

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel

from .._errors import SandbarError
from ._sandboxes import Sandboxes

#: Content for the model, and descriptors for the application.
Answer = tuple[Any, Any]

#: The id of the tool call that runs here, if it has one.
current_tool_call_id: ContextVar[Optional[str]] = ContextVar("sandbar_tool_call_id", default=None)


def call_key(config: RunnableConfig) -> Optional[str]:
    """The same for the same tool call of the same graph step, also when the step is tried again or resumed from a
    checkpoint: then code that ran already is not run twice. Calls that are not part of a step get none."""
    step = (config.get("configurable") or {}).get("checkpoint_ns")
    call = current_tool_call_id.get()
    if not step or not call:
        return None
    # A header holds visible ASCII only.
    return quote(f"lc:{step}:{call}", safe="")[:255]


class _SandboxTool(StructuredTool):
    """LangChain tells a function the id of its call only if nobody may call it without one."""

    def run(self, *args: Any, tool_call_id: Optional[str] = None, **kwargs: Any) -> Any:
        token = current_tool_call_id.set(tool_call_id)
        try:
            return super().run(*args, tool_call_id=tool_call_id, **kwargs)
        finally:
            current_tool_call_id.reset(token)

    async def arun(self, *args: Any, tool_call_id: Optional[str] = None, **kwargs: Any) -> Any:
        token = current_tool_call_id.set(tool_call_id)
        try:
            return await super().arun(*args, tool_call_id=tool_call_id, **kwargs)
        finally:
            current_tool_call_id.reset(token)


def make_tool(
    name: str,
    description: str,
    schema: type[BaseModel],
    sandboxes: Sandboxes,
    work: Callable[..., Answer],
    awork: Callable[..., Any],
) -> StructuredTool:
    """``work`` gets the session, the key of the call and the model's arguments."""

    # LangChain hands the config to the parameter with this annotation; the model does not see it.
    def call(config: RunnableConfig, **arguments: Any) -> Answer:
        try:
            session = sandboxes.session(config)
            return _noticed(sandboxes.notice(session), work(session, call_key(config), **arguments))
        except SandbarError as error:
            raise ToolException(str(error)) from error

    async def acall(config: RunnableConfig, **arguments: Any) -> Answer:
        try:
            session = await sandboxes.asession(config)
            answer: Answer = await awork(session, call_key(config), **arguments)
            return _noticed(sandboxes.notice(session), answer)
        except SandbarError as error:
            raise ToolException(str(error)) from error

    return _SandboxTool.from_function(
        func=call,
        coroutine=acall,
        name=name,
        description=description,
        args_schema=schema,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _noticed(notice: Optional[str], answer: Answer) -> Answer:
    content, artifact = answer
    if notice is None:
        return answer
    if isinstance(content, str):
        return f"[{notice}]\n{content}", artifact
    return [{"type": "text", "text": f"[{notice}]"}, *content], artifact
