"""Bounds on what a kernel reports: the kernel is user code's own process and may say anything."""

from guest import limits
from guest.executions.output import utf16_length
from guest.io.wire_json import dumps, encode


def bounded_bundle(execution, message: dict) -> "dict | None":
    """What fits: text is cut, any other value that is too large is left out. The execution keeps how large they were."""
    data = message.get("data")
    if not isinstance(data, dict):
        return None
    lengths = message.get("lengths")
    lengths = lengths if isinstance(lengths, dict) else {}
    limit = int(execution.request.get("mime_value_limit", 1_000_000))
    execution.results += 1
    room = limits.RESULT_BYTES if execution.results <= limits.RESULTS_PER_EXECUTION else 0
    kept = {}
    for mime, value in list(data.items())[:64]:
        whole = max(_length(value), _count(lengths.get(mime)))
        part, chars, size = _fitting(mime, value, limit, execution.mime_left, room)
        if part is None or len(mime) > 128:
            _left_out(execution, mime, whole)
            continue
        if part is not value or mime in lengths:
            execution.result_length = max(execution.result_length, whole)
        execution.mime_left -= chars
        room -= size
        kept[mime] = part
    for mime, length in list(lengths.items())[:64]:
        if mime not in data:
            _left_out(execution, mime, _count(length))
    return kept


def _fitting(mime: str, value, limit: int, chars: int, room: int) -> tuple:
    """As much of a value as there is room for, and what that takes as JSON, in characters and in bytes."""
    text = isinstance(value, str)
    cuttable = text and mime.startswith("text/") and mime != "text/html"
    if cuttable and len(value) > limit:
        value = value[:limit]
    while True:
        line = dumps(value)
        size = (len(line) if line.isascii() else len(encode(line))) + len(mime) + 64
        if (len(value) if text else len(line)) <= limit and len(line) - 2 * text <= chars and size <= room:
            return value, len(line) - 2 * text, size
        if not cuttable or len(value) < 2 or room <= 0:
            return None, 0, 0
        value = value[: min(chars, len(value) * 3 // 4)]


def _length(value) -> int:
    return utf16_length(value if isinstance(value, str) else dumps(value))


def _count(value) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 53 else 0


def _left_out(execution, mime: str, length: int) -> None:
    execution.dropped += 1
    known = execution.left_out
    if "/" in mime and len(mime) <= 128 and (mime in known or len(known) < 64):
        known[mime] = max(known.get(mime, 0), length)


def bounded_error(execution, message: dict) -> dict:
    value = str(message.get("value", ""))
    traceback = str(message.get("traceback", ""))
    lengths = message.get("lengths")
    lengths = lengths if isinstance(lengths, dict) else {}
    for field, text, limit in (("error", value, limits.ERROR_VALUE), ("traceback", traceback, limits.ERROR_TRACEBACK)):
        if len(text) > limit or field in lengths:
            execution.error_lengths[field] = max(utf16_length(text), _count(lengths.get(field)))
    if len(traceback) > limits.ERROR_TRACEBACK:
        half = limits.ERROR_TRACEBACK // 2
        traceback = traceback[:half] + "\n…\n" + traceback[-half:]
    return {
        "name": str(message.get("name", "Error"))[: limits.ERROR_NAME],
        "value": value[: limits.ERROR_VALUE],
        "traceback": traceback,
    }
