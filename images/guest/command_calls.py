"""The daemon's questions about commands: `ps.*`, and `tunnel.open`."""

import base64
import signal

from calls import METHODS, CallError
from tunnels import open_tunnel

WAITERS = 32
WAIT_S = 30.0
ANSWER_BYTES = 128 * 1024
"""Of text, which JSON may make six times as long."""

_waiting = set()


def start(guest, params: dict, reply) -> None:
    reply(guest.commands.start(params).describe())


def get(guest, params: dict, reply) -> None:
    reply(guest.commands.get(params["process"]).describe())


def listing(guest, _params: dict, reply) -> None:
    reply({"processes": [command.describe(whole=False) for command in guest.commands.all()]})


def remove(guest, params: dict, reply) -> None:
    guest.commands.remove(params["process"])
    reply({})


def stdin(guest, params: dict, reply) -> None:
    command = guest.commands.get(params["process"])
    data = base64.b64decode(params.get("data_b64") or "")
    if guest.commands.once(params):
        if command.exit is not None or not command.input.open:
            raise CallError("PROCESS_ENDED", "the process reads no more")
        if not command.input.has_room(len(data)):
            raise CallError("RATE_LIMITED", "the process does not read: %d bytes wait" % command.input.waiting)
        command.input.write(data)
        if params.get("eof") is True:
            # A terminal has no end of its own; its line discipline makes one of this character, at the start of a line.
            within_line = data != b"" and data[-1:] not in (b"\n", b"\r")
            command.input.write(b"\x04\x04" if within_line else b"\x04") if command.size else command.input.end()
    reply({})


def send_signal(guest, params: dict, reply) -> None:
    command = guest.commands.get(params["process"])
    number = getattr(signal, str(params["signal"]), None)
    if not isinstance(number, signal.Signals):
        raise CallError("VALIDATION_FAILED", "signal: no signal of this name")
    if guest.commands.once(params):
        command.signal(number)
    reply({})


def resize(guest, params: dict, reply) -> None:
    command = guest.commands.get(params["process"])
    command.resize(int(params["cols"]), int(params["rows"]))
    reply(command.describe())


def output(guest, params: dict, reply) -> None:
    """What follows `after`; when there is nothing, waits for it a while."""
    command = guest.commands.get(params["process"])
    after = int(params.get("after") or 0)
    wait_s = min(WAIT_S, int(params.get("wait_ms") or 0) / 1000)
    if command.last_seq > after or command.exit is not None or wait_s <= 0:
        reply(_output(command, after))
        return
    if len(_waiting) >= WAITERS:
        raise CallError("RATE_LIMITED", "%d readers wait for processes of this session" % WAITERS)

    def answer() -> None:
        if answer in _waiting:
            _waiting.discard(answer)
            command.watchers.discard(answer)
            timer.cancel()
            reply(_output(command, after))

    timer = guest.loop.after(wait_s, answer)
    _waiting.add(answer)
    command.watchers.add(answer)


def _output(command, after: int) -> dict:
    entries = command.ring.after(after, ANSWER_BYTES)
    last = entries[-1][0] if entries else max(after, command.ring.dropped)
    more = last < command.ring.last_seq
    return {
        "entries": [
            {"seq": seq, "stream": stream, "text": data.decode("utf-8", "replace")} for seq, stream, data in entries
        ],
        "missed": command.ring.missed(after),
        "more": more,
        "last_seq": command.last_seq,
        "exit": None if more else command.exit,
    }


METHODS.update(
    {
        "ps.start": start,
        "ps.get": get,
        "ps.list": listing,
        "ps.remove": remove,
        "ps.stdin": stdin,
        "ps.signal": send_signal,
        "ps.resize": resize,
        "ps.output": output,
        "tunnel.open": open_tunnel,
    }
)
