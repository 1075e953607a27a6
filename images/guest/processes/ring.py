"""A process's output, numbered from 1 and kept within a bound; the oldest goes first."""

from collections import deque
from itertools import islice

RING_BYTES = 1024 * 1024
ALL_RINGS_BYTES = 16 * 1024 * 1024
"""They lie in the sandbox's own memory, so many of them must share."""
ENTRY_BYTES = 32 * 1024
ENTRY_COST = 256
"""What an entry counts at least, so that a million tiny ones do not cost a hundred times their bytes."""


class Ring:
    def __init__(self) -> None:
        self._entries = deque()
        self._cost = 0
        self._limit = RING_BYTES
        self.last_seq = 0
        self.dropped = 0
        self.dropped_bytes = 0

    def append(self, stream: str, data: bytes) -> None:
        self.last_seq += 1
        self._entries.append((self.last_seq, stream, data))
        self._cost += max(ENTRY_COST, len(data))
        self._trim()

    def share(self, rings: int) -> None:
        self._limit = min(RING_BYTES, ALL_RINGS_BYTES // max(1, rings))
        self._trim()

    def _trim(self) -> None:
        while self._cost > self._limit:
            _seq, _stream, oldest = self._entries.popleft()
            self._cost -= max(ENTRY_COST, len(oldest))
            self.dropped += 1
            self.dropped_bytes += len(oldest)

    def after(self, seq: int, limit: int) -> "list[tuple[int, str, bytes]]":
        """Entries that follow `seq`, of about `limit` bytes, at least one if there is any."""
        found, size = [], 0
        for entry in islice(self._entries, max(0, seq - self.dropped), None):
            if found and size + len(entry[2]) > limit:
                break
            found.append(entry)
            size += len(entry[2])
        return found

    def missed(self, seq: int) -> int:
        """How many entries after `seq` are gone."""
        return max(0, self.dropped - seq)

    def bytes_after(self, seq: int) -> int:
        return sum(len(entry[2]) for entry in islice(self._entries, max(0, seq - self.dropped), None))


def whole_characters(data: bytes, end: int) -> int:
    """How much of data[:end] does not cut a UTF-8 character in two."""
    for back in range(1, min(3, end) + 1):
        byte = data[end - back]
        if byte < 0x80:
            return end
        if byte >= 0xC0:
            needs = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return end - back if needs > back else end
    return end
