"""Bounds on what a kernel reports: the kernel is user code's own process and may say anything."""

import limits
from wire_json import dumps


def bounded_bundle(execution, data) -> "dict | None":
    """The values that fit; the others are counted."""
    if not isinstance(data, dict):
        return None
    value_limit = int(execution.request.get("mime_value_limit", 1_000_000))
    execution.results += 1
    kept = {}
    room = limits.RESULT_LINE_BYTES
    for mime, value in list(data.items())[:64]:
        text = value if isinstance(value, str) else dumps(value)
        size = len(text)
        weight = size if text.isascii() else len(text.encode("utf-8", "replace"))
        # Quoting may double a byte, and turns a control character into six.
        weight += text.count('"') + text.count("\\") + text.count("\n") + 64
        if (
            len(mime) > 128
            or size > value_limit
            or size > execution.mime_left
            or weight > room
            or execution.results > limits.RESULTS_PER_EXECUTION
        ):
            execution.dropped += 1
            continue
        execution.mime_left -= size
        room -= weight
        kept[mime] = value
    return kept


def bounded_error(message: dict) -> dict:
    traceback = str(message.get("traceback", ""))
    if len(traceback) > limits.ERROR_TRACEBACK:
        half = limits.ERROR_TRACEBACK // 2
        traceback = traceback[:half] + "\n…\n" + traceback[-half:]
    return {
        "name": str(message.get("name", "Error"))[: limits.ERROR_NAME],
        "value": str(message.get("value", ""))[: limits.ERROR_VALUE],
        "traceback": traceback,
    }
