"""The variables of a context, out of its kernel and into another one. The guest carries the bytes and looks at none of them."""

import fcntl
import itertools
import os
import select
import signal
import time

from guest.calls.state_report import StateReport
from guest.files.paths import refusal
from guest.files.transfers import RECEIVE_BYTES, Dialer, Incoming
from guest.io.call_error import CallError
from guest.kernels.context import Context
from guest.system import oom, process_tree
from guest.system.shortage import shortage
from guest.wires.named_pipes import NamedPipes

FORMATS = {"python": "python-cloudpickle/1", "r": "r-serialize/1", "node": "node-v8/1", "bash": "bash-declare/1"}
TIMEOUT_MS = 120_000
LONGEST_MS = 1_800_000
BEGIN_S = 30.0
"""Until a kernel that forks for it takes code again."""
EACH_S = 60.0
"""For one variable, where user code may be asked for it: others may still be saved."""
PIPE_BYTES = 1024 * 1024
SET_PIPE_SIZE = getattr(fcntl, "F_SETPIPE_SZ", 1031)

_numbers = itertools.count(1)


def dump(on_files):
    def method(guest, params: dict, reply) -> None:
        context, transfer = guest.contexts.get(params["context"]), str(params["transfer"])
        most = None if params.get("max_bytes") is None else int(params["max_bytes"])
        if context is None or context.closed or context.state == "dead" or context.language not in FORMATS:
            language = context.language if context is not None else None
            alive = context is not None and context.state != "dead"
            reply({"size": 0, "alive": alive, "language": language, "format": None, "variables": [], "more": 0})
            return
        if params.get("on_busy") == "refuse" and context.busy():
            raise CallError("BUSY", "code runs in the context")

        def begin(seconds: float) -> None:
            carrier = _Carrier(guest, context, seconds)
            carrier.ask("dump", BEGIN_S if context.forks else seconds, each_s=min(EACH_S, seconds / 2))
            on_files.bulk(lambda dialer: carrier.out(dialer, transfer, most), carrier.closing(reply))

        _when_quiet(guest, context, params, begin, reply)

    return method


def load(on_files):
    def method(guest, params: dict, reply) -> None:
        language, transfer = params["language"], str(params["transfer"])
        if params["format"] != FORMATS.get(language):
            raise CallError("SNAPSHOT_DAMAGED", "this sandbox cannot read %s of %s" % (str(params["format"])[:64], str(language)[:64]))
        context = guest.open_context({"context": params["context"], "language": language, "env": params.get("env") or {}})
        if context is None or context.language != language:
            raise CallError("LANGUAGE_UNAVAILABLE", "the context has no kernel for it")
        if context.used:
            raise CallError("VALIDATION_FAILED", "code has run in the context; restart it first")

        def answered(result=None, error=None, code=None) -> None:
            if error is None:
                context.used = True
            else:
                # Half of it may be there.
                context.restart()
            reply(result, error, code)

        def begin(seconds: float) -> None:
            carrier = _Carrier(guest, context, seconds)
            carrier.ask("load", seconds)
            on_files.bulk(lambda dialer: carrier.into(dialer, transfer), carrier.closing(answered))

        _when_quiet(guest, context, params, begin, reply)

    return method


def _when_quiet(guest, context: Context, params: dict, begin, reply) -> None:
    """Between two executions, before those that wait."""
    link = guest.link
    asked = link.welcomes
    until = time.monotonic() + min(LONGEST_MS, max(100, int(params.get("timeout_ms", TIMEOUT_MS)))) / 1000

    def quiet() -> None:
        timer.cancel()
        if context.state != "ready":
            reply(error="the context has no kernel any more", code="KERNEL_DIED")
            return
        if not link.ready or link.welcomes != asked:
            # The kernel would write what nobody expects.
            reply(error="whoever asked has gone", code="TRANSFER_FAILED")
            return
        try:
            begin(max(1.0, until - time.monotonic()))
        except OSError as error:
            failure = refusal(error)
            reply(error=str(failure), code=failure.code)

    def overdue() -> None:
        context.no_longer(quiet)
        reply(error="code ran in the context all the time", code="BUSY")

    timer = guest.loop.after(until - time.monotonic(), overdue)
    context.when_quiet(quiet)


class _Carrier:
    """Between one kernel, by two named pipes, and one connection of the daemon."""

    def __init__(self, guest, context: Context, seconds: float) -> None:
        self._context = context
        self._language = context.language
        self._until = time.monotonic() + seconds
        self._kills = oom.Strikes().count
        self._report = StateReport()
        self._answer = None
        self._pid = 0
        self._whole = self._closed = False
        self._to_kernel = -1
        self._named = NamedPipes()
        self._stem, self._data, self._said = self._named.make()
        self._woken, self._wake = os.pipe()
        try:
            fcntl.fcntl(self._data, SET_PIPE_SIZE, PIPE_BYTES)
        except OSError:
            # Of its own size, then.
            pass

    def ask(self, op: str, timeout_s: float, **more) -> None:
        """On the loop's thread, of a kernel that is idle. One that has forked for it has answered long before it is done."""
        forked = op == "dump" and self._context.forks
        if op == "load":
            self._to_kernel = os.open(self._stem + ".out", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

        def answered(message: dict) -> None:
            result = message.get("result")
            if forked and isinstance(result, dict):
                pid = result.get("pid")
                self._pid = pid if isinstance(pid, int) and pid > 1 else 0
                return
            self._answer = message
            if not self._closed:
                os.write(self._wake, b"!")

        message = {"op": op, "ask": next(_numbers), "data": self._stem + ".out", "report": self._stem + ".err", **more}
        self._context.ask(message, timeout_s, answered)

    def closing(self, reply):
        """On the loop's thread again, when the bytes have been carried or not."""

        def answered(result=None, error=None, code=None) -> None:
            if not self._whole and self._pid:
                process_tree.signal_process(self._pid, signal.SIGKILL)
            self._close()
            reply(result, error, code)

        return answered

    # On a thread of its own

    def out(self, dialer: Dialer, transfer: str, most: "int | None") -> dict:
        size, failure = 0, None
        with dialer.dial(transfer) as sock:
            for fd, data in self._heard({self._data, self._said}, sock.fileno()):
                if fd == sock.fileno():
                    failure = failure or CallError("TRANSFER_FAILED", "the connection was cut")
                elif fd == self._said:
                    self._report.feed(data)
                elif failure is None:
                    size += len(data)
                    try:
                        if most is not None and size > most:
                            raise CallError("LIMIT_EXCEEDED", "the variables take more than %d bytes" % most)
                        sock.sendall(data)
                    except CallError as error:
                        failure = error
                    except OSError:
                        failure = CallError("TRANSFER_FAILED", "the connection was cut")
                # A kernel that writes it itself is heard to the end: its pipe must not break under it.
                if failure is not None and self._pid:
                    break
            if failure is not None:
                raise failure
            return {"size": size, "alive": True, "language": self._language, "format": FORMATS[self._language], **self._said_at_last("saved")}

    def into(self, dialer: Dialer, transfer: str) -> dict:
        with dialer.dial(transfer) as sock:
            sock.settimeout(max(1.0, self._until - time.monotonic()))
            incoming = Incoming(sock)
            buffer = memoryview(bytearray(RECEIVE_BYTES))
            while self._answer is None:
                count = incoming.readinto(buffer)
                if count == 0:
                    break
                self._give(buffer[:count])
            # What comes after the kernel has answered is nobody's.
            incoming.drain()
            received = incoming.confirm()
            if not self._report.heard:
                # A kernel that has not opened its end yet would wait for a writer for ever.
                for _fd, data in self._heard({self._said}):
                    self._report.feed(data)
                    if self._report.heard:
                        break
            os.close(self._to_kernel)
            self._to_kernel = -1
            for _fd, data in self._heard({self._said}):
                self._report.feed(data)
            return {**received, "language": self._language, **self._said_at_last("loaded")}

    def _give(self, view: memoryview) -> None:
        waiting = select.poll()
        waiting.register(self._to_kernel, select.POLLOUT)
        waiting.register(self._woken, select.POLLIN)
        waiting.register(self._said, select.POLLIN)
        while view and self._answer is None:
            for fd, _events in waiting.poll(self._patience()):
                if fd == self._to_kernel:
                    view = view[os.write(fd, view[:65536]) :]
                elif fd == self._said:
                    data = _read(fd)
                    if data:
                        self._report.feed(data)
                    elif data is not None:
                        waiting.unregister(fd)

    def _heard(self, left: "set[int]", taker: int = -1):
        """What comes on these pipes, until nobody has them open any more, or the kernel has answered; and when the taker hangs up."""
        waiting = select.poll()
        if taker >= 0:
            waiting.register(taker, 0)
        for fd in (*left, self._woken):
            waiting.register(fd, select.POLLIN)
        while left:
            answered = self._answer is not None
            ready = [fd for fd, _events in waiting.poll(0 if answered else self._patience())]
            if taker in ready:
                waiting.unregister(taker)
                yield taker, b""
            found = [fd for fd in ready if fd in left]
            if answered and not found:
                return
            for fd in found:
                data = _read(fd)
                if data:
                    yield fd, data
                elif data is not None:
                    waiting.unregister(fd)
                    left.discard(fd)

    def _patience(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise CallError("HOST_TIMEOUT", "time was up%s" % self._where())
        return left * 1000

    def _said_at_last(self, verb: str) -> dict:
        report, answer = self._report, self._answer or {}
        if report.done is not None and report.failed is None and "error" not in answer:
            self._whole = True
            return report.done
        why, code = report.failed or answer.get("error") or "the process that did it ended", "FAILED"
        missing = shortage()
        if oom.Strikes().count > self._kills:
            why, code = "the sandbox ran out of memory", "OOM_KILLED"
        elif missing is not None:
            why, code = "%s; %s" % (why, missing["detail"]), missing["code"]
        elif verb == "loaded":
            code = "SNAPSHOT_DAMAGED"
        raise CallError(code, "the variables could not be %s: %s%s" % (verb, str(why)[:1000], self._where()))

    def _where(self) -> str:
        return " (at the variable %r)" % self._report.at if self._report.at else ""

    def _close(self) -> None:
        self._closed = True
        for fd in (self._data, self._said, self._woken, self._wake, self._to_kernel):
            if fd >= 0:
                os.close(fd)
        self._named.close()


def _read(fd: int) -> "bytes | None":
    try:
        return os.read(fd, PIPE_BYTES)
    except BlockingIOError:
        return None
