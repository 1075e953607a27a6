"""What a model reads of an execution, and what the application gets beside it."""

from __future__ import annotations

from typing import Optional

from .._left_out import left_out
from .._models import Execution
from ._tool import Answer

#: A model's image limits are in the megabytes; what is larger is named, not shown.
IMAGE_LIMIT_BYTES = 256 * 1024
OUTPUT_LIMIT_CHARS = 20_000
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def execution_answer(execution: Execution, image_limit: int, output_limit: int) -> Answer:
    text = execution_text(execution, output_limit)
    images = []
    for bundle in execution.results:
        for mime in _IMAGES:
            data = bundle.get(mime)
            if not isinstance(data, str):
                continue
            size = len(data) * 3 // 4
            if size <= image_limit:
                images.append({"type": "image", "base64": "".join(data.split()), "mime_type": mime})
            elif image_limit:
                text += f"\n[{mime} of {size} bytes not shown]"
            break
    artifact = {
        "session_id": execution.session_id,
        "execution_id": execution.id,
        "status": execution.status,
        "exit_code": execution.exit_code,
        "artifacts": [item.to_dict() for item in execution.artifacts],
    }
    return ([{"type": "text", "text": text}, *images] if images else text), artifact


def execution_text(execution: Execution, limit: int = OUTPUT_LIMIT_CHARS) -> str:
    """What a model should read of an execution."""
    parts = []
    if execution.stdout:
        parts.append(_cut(execution.stdout, limit, execution.truncated.get("stdout")))
    if execution.stderr:
        parts.append("stderr:\n" + _cut(execution.stderr, limit, execution.truncated.get("stderr")))
    if execution.error is not None:
        error = execution.error
        # The end of a traceback says what failed.
        parts.append((error.traceback or f"{error.name}: {error.value}")[-limit:])
    elif execution.text is not None:
        parts.append(_cut(execution.text, limit, execution.truncated.get("result")))
    parts.extend(left_out(execution.truncated))
    if execution.exit_code:
        parts.append(f"exit code {execution.exit_code}")
    if not execution.ok and execution.status != "error":
        parts.append(f"status: {execution.status}")
    lost = [name for name in ("variables", "files") if getattr(execution.state, name) == "lost"]
    if lost:
        why = f" before this one began: {execution.state.reason}" if execution.state.reason else ""
        parts.append(f"Lost: {' and '.join(lost)} of earlier calls{why}.")
    for item in execution.artifacts:
        parts.append(f"artifact {item.name} ({item.size} bytes, {item.mime}): {item.id}")
    for skipped in execution.artifacts_skipped:
        parts.append(f"not kept as artifact: {skipped.get('name')}: {skipped.get('reason')}")
    return "\n".join(part.rstrip("\n") for part in parts) or "(no output)"


def _cut(text: str, limit: int, total: Optional[int]) -> str:
    whole = max(total or 0, len(text))
    if whole <= limit and len(text) == whole:
        return text
    return f"{text[:limit]}\n[cut: {whole} characters in all]"
