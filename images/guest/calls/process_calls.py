"""The daemon's questions about processes: `ps.*`."""

import base64
import signal

from guest.io.call_error import CallError

WAITERS = 32
WAIT_S = 30.0
ANSWER_BYTES = 128 * 1024
"""Of text, which JSON may make six times as long."""

_waiting = set()


def start(guest, params: dict, reply) -> None:
    reply(guest.processes.start(params).describe())


def get(guest, params: dict, reply) -> None:
    reply(guest.processes.get(params["process"]).describe())


def listing(guest, _params: dict, reply) -> None:
    reply({"processes": [process.describe(whole=False) for process in guest.processes.all()]})


def remove(guest, params: dict, reply) -> None:
    guest.processes.remove(params["process"])
    reply({})


def stdin(guest, params: dict, reply) -> None:
    process = guest.processes.get(params["process"])
    data = base64.b64decode(params.get("data_b64") or "")
    if guest.processes.once(params):
        if process.exit is not None or not process.input.open:
            raise CallError("PROCESS_ENDED", "the process reads no more")
        if not process.input.has_room(len(data)):
            raise CallError("RATE_LIMITED", "the process does not read: %d bytes wait" % process.input.waiting)
        process.input.write(data)
        if params.get("eof") is True:
            # A terminal has no end of its own; its line discipline makes one of this character, at the start of a line.
            within_line = data != b"" and data[-1:] not in (b"\n", b"\r")
            process.input.write(b"\x04\x04" if within_line else b"\x04") if process.size else process.input.end()
    reply({})


def send_signal(guest, params: dict, reply) -> None:
    process = guest.processes.get(params["process"])
    number = getattr(signal, str(params["signal"]), None)
    if not isinstance(number, signal.Signals):
        raise CallError("VALIDATION_FAILED", "signal: no signal of this name")
    if guest.processes.once(params):
        process.signal(number)
    reply({})


def resize(guest, params: dict, reply) -> None:
    process = guest.processes.get(params["process"])
    process.resize(int(params["cols"]), int(params["rows"]))
    reply(process.describe())


def output(guest, params: dict, reply) -> None:
    """What follows `after`; when there is nothing, waits for it a while."""
    process = guest.processes.get(params["process"])
    after = int(params.get("after") or 0)
    wait_s = min(WAIT_S, int(params.get("wait_ms") or 0) / 1000)
    if process.last_seq > after or process.exit is not None or wait_s <= 0:
        reply(_output(process, after))
        return
    if len(_waiting) >= WAITERS:
        raise CallError("RATE_LIMITED", "%d readers wait for processes of this session" % WAITERS)

    def answer() -> None:
        if answer in _waiting:
            _waiting.discard(answer)
            process.watchers.discard(answer)
            timer.cancel()
            reply(_output(process, after))

    timer = guest.loop.after(wait_s, answer)
    _waiting.add(answer)
    process.watchers.add(answer)


def _output(process, after: int) -> dict:
    entries = process.ring.after(after, ANSWER_BYTES)
    last = entries[-1][0] if entries else max(after, process.ring.dropped)
    more = last < process.ring.last_seq
    return {
        "entries": [
            {"seq": seq, "stream": stream, "text": data.decode("utf-8", "replace")} for seq, stream, data in entries
        ],
        "missed": process.ring.missed(after),
        "more": more,
        "last_seq": process.last_seq,
        "exit": None if more else process.exit,
    }
