"""LangChain and LangGraph tools on a Sandbar (``pip install sandbar-client[langchain]``).

Each factory returns a ``StructuredTool`` that works with ``invoke`` and ``ainvoke`` and answers text for the model
and JSON descriptors as the message's ``artifact``. The session belongs to ``configurable.thread_id`` unless
``session_key_fn`` says otherwise; give all tools of one agent the same ``session`` specification.
"""

from ._code_tools import make_code_sandbox_tool, make_terminal_tool
from ._dataset_tools import make_export_datasets_tool, make_list_datasets_tool, make_select_dataset_tool
from ._file_tools import make_export_files_tool, make_import_files_tool
from ._render import IMAGE_LIMIT_BYTES, OUTPUT_LIMIT_CHARS, execution_text
from ._sandbox_tools import make_sandbox_tools
from ._sandboxes import Client, SessionKeyFn

__all__ = [
    "IMAGE_LIMIT_BYTES",
    "OUTPUT_LIMIT_CHARS",
    "Client",
    "SessionKeyFn",
    "execution_text",
    "make_code_sandbox_tool",
    "make_export_datasets_tool",
    "make_export_files_tool",
    "make_import_files_tool",
    "make_list_datasets_tool",
    "make_sandbox_tools",
    "make_select_dataset_tool",
    "make_terminal_tool",
]
