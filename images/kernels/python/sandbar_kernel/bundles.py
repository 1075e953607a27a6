"""MIME bundles fit for the wire: bytes in base64, too large values left out and counted."""

import binascii

from .channel import dumps

_base64 = binascii.b2a_base64


class Bundles:
    def __init__(self, send_line, send_line_and_wait, before) -> None:
        self._send_line = send_line
        self._send_line_and_wait = send_line_and_wait
        self._before = before
        self._value_limit = self._left = 0
        self.dropped = 0

    def begin(self, value_limit: int, total_limit: int) -> None:
        self._value_limit = value_limit
        self._left = total_limit
        self.dropped = 0

    def publish(self, data: dict, last: bool = False) -> None:
        """In order with the output before and after it. Nothing comes after the `last` one, so nobody waits for it."""
        self._before()
        kept = {}
        for mime, value in data.items():
            if isinstance(value, (bytes, bytearray)):
                value = _base64(value, newline=False).decode()
            elif not isinstance(value, str):
                size = len(dumps(value))
                if size > self._value_limit:
                    self.dropped += 1
                    continue
            if isinstance(value, str):
                size = len(value)
            if size > self._value_limit or size > self._left:
                self.dropped += 1
                continue
            self._left -= size
            kept[str(mime)] = value
        if kept:
            if last:
                self._send_line(dumps({"op": "result", "data": kept}))
            else:
                self._send_line_and_wait(dumps({"op": "result", "data": kept, "wait": True}))
