"""Executions that the guest knows: their numbered events, kept until acknowledged and replayed on request."""

from collections import OrderedDict, deque

from guest import limits
from guest.io.wire_json import dumps, encode, quote


class Execution:
    __slots__ = ("id", "context", "request", "seq", "kept", "ended", "flowing", "head", "results", "mime_left",
                 "dropped", "left_out", "result_length", "error_lengths", "loss")

    def __init__(self, context, request: dict) -> None:
        self.id = request["execution"]
        self.context = context
        self.request = request
        self.seq = 0
        self.kept = deque()
        self.ended = False
        # After a redial nothing flows until the daemon said from where, or it would see a gap.
        self.flowing = True
        self.head = '{"type":"event","execution":' + quote(self.id) + ',"event":{"seq":'
        self.results = 0
        self.mime_left = int(request.get("mime_total_limit", 8_000_000))
        self.dropped = 0
        self.left_out = {}
        """MIME types of values that were left out, and how long the longest was."""
        self.result_length = 0
        """Of the longest text that was cut."""
        self.error_lengths = {}
        """Of an error's value (`error`) and traceback, if they were cut."""
        self.loss = {}


class Journal:
    def __init__(self, send, send_soon, on_room) -> None:
        self._send = send
        self._send_soon = send_soon
        self._on_room = on_room
        self._known = OrderedDict()
        self._seen = OrderedDict()
        self._bytes = 0
        self.full = False

    def admit(self, context, request: dict) -> "Execution | None":
        """None when this id has been here before: code starts at most once."""
        ident = request["execution"]
        if ident in self._seen:
            return None
        self._seen[ident] = None
        while len(self._seen) > limits.EXECUTIONS_REMEMBERED:
            self._evict()
        execution = Execution(context, request)
        self._known[ident] = execution
        return execution

    def find(self, ident: str) -> "Execution | None":
        return self._known.get(ident)

    def inventory(self) -> "list[dict]":
        return [{"execution": e.id, "last_seq": e.seq, "done": e.ended} for e in self._known.values()]

    def hold_all(self) -> None:
        for execution in self._known.values():
            execution.flowing = False

    def text(self, execution: Execution, kind: str, text: str) -> None:
        self._append(execution, '"type":"%s","text":%s}}\n' % (kind, quote(text)))

    def event(self, execution: Execution, kind: str, soon: bool = False, **fields) -> None:
        body = dumps(fields)[1:] if fields else "}"
        self._append(execution, '"type":"%s"%s%s}\n' % (kind, "," if fields else "", body), soon)

    def end(self, execution: Execution, **fields) -> None:
        if not execution.ended:
            execution.ended = True
            execution.request = None
            self.event(execution, "done", **fields)

    def ack(self, ident: str, seq: int, final: bool) -> None:
        execution = self._known.get(ident)
        if execution is None:
            return
        kept = execution.kept
        while kept and kept[0][0] <= seq:
            self._bytes -= len(kept.popleft()[1])
        if final and execution.ended:
            self._forget(execution)
        if self.full and self._bytes < limits.RESUME_BYTES:
            self.full = False
            self._on_room()

    def replay(self, ident: str, seq: int) -> None:
        execution = self._known.get(ident)
        if execution is None:
            return
        execution.flowing = True
        for number, line in execution.kept:
            if number > seq:
                self._send(line)

    def _append(self, execution: Execution, rest: str, soon: bool = False) -> None:
        execution.seq += 1
        line = encode("%s%d,%s" % (execution.head, execution.seq, rest))
        execution.kept.append((execution.seq, line))
        self._bytes += len(line)
        if self._bytes > limits.UNACKED_BYTES:
            self.full = True
        if execution.flowing:
            (self._send_soon if soon else self._send)(line)

    def _forget(self, execution: Execution) -> None:
        self._bytes -= sum(len(line) for _, line in execution.kept)
        execution.kept.clear()
        self._known.pop(execution.id, None)

    def _evict(self) -> None:
        ident, _ = self._seen.popitem(last=False)
        execution = self._known.get(ident)
        if execution is None:
            return
        if execution.ended:
            self._forget(execution)
        else:
            self._seen[ident] = None
