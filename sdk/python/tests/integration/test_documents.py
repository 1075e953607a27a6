"""What the documents show runs as it stands there."""

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("langchain")
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from sandbar import Sandbar

PACKAGE = Path(__file__).parents[2]
DOCUMENTS = [
    PACKAGE / "README.md",
    PACKAGE.parents[1] / "README.md",
    PACKAGE.parents[1] / "docs/quickstart-python.md",
]
SNIPPETS = [
    pytest.param(code, id=f"{document.relative_to(PACKAGE.parents[1])}-{number}")
    for document in DOCUMENTS
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", document.read_text(), re.M | re.S))
]


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools, **kwargs):
        return self


def model():
    call = {"name": "code_sandbox", "args": {"code": "2 ** 100"}, "id": "call-1"}
    return ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))


@pytest.fixture
def stopped_after():
    yield
    with Sandbar.from_env() as client:
        for session in client.sessions(status="ready"):
            if session.key in ("conversation-17", "thread-42"):
                client.get_session(session.id).stop()


@pytest.mark.parametrize("code", SNIPPETS)
def test_snippet(code, tmp_path, monkeypatch, stopped_after):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.parquet").write_bytes(b"PAR1")
    code = code.replace("http://127.0.0.1:8787", os.environ["SANDBAR_URL"])
    exec(compile(code, "snippet", "exec"), {"model": model(), "my_fetch": lambda dataset_id: b"bytes"})


def test_there_are_snippets():
    assert len(SNIPPETS) >= 7
