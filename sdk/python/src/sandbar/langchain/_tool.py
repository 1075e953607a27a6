"""One LangChain tool on a sandbox: blocking and asynchronous, with refusals that the model can read."""

from __future__ import annotations

from typing import Any, Callable

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel

from .._errors import SandbarError
from ._sandboxes import Sandboxes

#: Content for the model, and descriptors for the application.
Answer = tuple[Any, Any]


def make_tool(
    name: str,
    description: str,
    schema: type[BaseModel],
    sandboxes: Sandboxes,
    work: Callable[..., Answer],
    awork: Callable[..., Any],
) -> StructuredTool:
    # LangChain hands the config to the parameter with this annotation; the model does not see it.
    def call(config: RunnableConfig, **arguments: Any) -> Answer:
        try:
            return work(sandboxes.session(config), **arguments)
        except SandbarError as error:
            raise ToolException(str(error)) from error

    async def acall(config: RunnableConfig, **arguments: Any) -> Answer:
        try:
            answer: Answer = await awork(await sandboxes.asession(config), **arguments)
            return answer
        except SandbarError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        func=call,
        coroutine=acall,
        name=name,
        description=description,
        args_schema=schema,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
