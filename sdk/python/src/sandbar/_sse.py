"""Server-sent events from bytes, without I/O."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Optional

# Only these end a line; str.splitlines would also split at U+2028 and others inside the data.
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class RawEvent:
    id: str
    event: str
    data: str


class SseDecoder:
    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._buffer = ""
        self._id = ""
        self._event = ""
        self._data: list[str] = []
        #: What the server asked to wait before a reconnect.
        self.retry_ms: Optional[int] = None

    def feed(self, chunk: bytes) -> list[RawEvent]:
        self._buffer += self._decoder.decode(chunk)
        events = []
        start = 0
        for match in _LINE_END.finditer(self._buffer):
            # A lone CR at the very end may be half of CRLF.
            if match.group() == "\r" and match.end() == len(self._buffer):
                break
            event = self._line(self._buffer[start : match.start()])
            start = match.end()
            if event is not None:
                events.append(event)
        self._buffer = self._buffer[start:]
        return events

    def _line(self, line: str) -> Optional[RawEvent]:
        if line == "":
            event = (
                RawEvent(self._id, self._event or "message", "\n".join(self._data)) if self._data else None
            )
            self._event = ""
            self._data = []
            return event
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isdigit():
            self.retry_ms = int(value)
        return None
