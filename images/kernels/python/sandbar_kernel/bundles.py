"""MIME bundles fit for the wire: bytes in base64, long text cut, other values that are too large left out; `lengths` says what they were."""

import binascii

from .wire_json import dumps

_base64 = binascii.b2a_base64
_COUNTED = 1 << 20


class Bundles:
    def __init__(self, send_line, send_line_and_wait, before, foreign, late) -> None:
        self._send_line = send_line
        self._send_line_and_wait = send_line_and_wait
        self._before = before
        self._foreign = foreign
        self._late = late
        self._value_limit = self._left = 0
        self._execution = None

    def begin(self, execution: str, value_limit: int, total_limit: int) -> None:
        self._execution = execution
        self._value_limit = value_limit
        self._left = total_limit

    def end(self) -> None:
        self._execution = None

    def publish(self, data: dict, last: bool = False) -> None:
        """In order with the output before and after it. Nothing comes after the `last` one, so nobody waits for it."""
        execution = self._execution
        if execution is None or self._foreign():
            # Of a thread or task that an earlier execution left behind.
            self._late(str(data.get("text/plain", "")) + "\n")
            return
        self._before()
        kept = {}
        lengths = {}
        for mime, value in data.items():
            mime = str(mime)
            if isinstance(value, (bytes, bytearray)):
                value = _base64(value, newline=False).decode()
            size = len(value if isinstance(value, str) else dumps(value))
            room = min(self._value_limit, self._left)
            if size > room:
                lengths[mime] = _length(value) if isinstance(value, str) else size
                if room == 0 or not isinstance(value, str) or not mime.startswith("text/") or mime == "text/html":
                    continue
                value = value[:room]
                size = room
            self._left -= size
            kept[mime] = value
        if kept or lengths:
            message = {"op": "result", "id": execution, "data": kept}
            if lengths:
                message["lengths"] = lengths
            if last:
                self._send_line(dumps(message))
            else:
                message["wait"] = True
                self._send_line_and_wait(dumps(message))


def _length(text: str) -> int:
    """In UTF-16 code units, like every length that users see; piece by piece, since a copy might not fit the memory."""
    if text.isascii():
        return len(text)
    pieces = (text[start : start + _COUNTED] for start in range(0, len(text), _COUNTED))
    return sum(len(piece.encode("utf-16-le", "surrogatepass")) for piece in pieces) // 2
