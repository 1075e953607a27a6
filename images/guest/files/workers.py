"""Threads for what may block: a bounded number, more wait; what they say reaches the loop's thread through a pipe."""

import errno
import os
from collections import deque

from guest.files.paths import refusal
from guest.io.call_error import CallError
from guest.system.shortage import shortage


class Mailbox:
    """Runs actions on the loop's thread, whoever posts them."""

    def __init__(self, loop) -> None:
        self._posted = deque()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        loop.watch(self._read, self._on_posted)

    def post(self, action) -> None:
        self._posted.append(action)
        try:
            os.write(self._write, b"!")
        except BlockingIOError:
            pass

    def _on_posted(self, _events: int) -> None:
        try:
            os.read(self._read, 65536)
        except BlockingIOError:
            pass
        while self._posted:
            self._posted.popleft()()


class Workers:
    def __init__(self, mailbox: Mailbox, limit: int, name: str) -> None:
        self._mailbox = mailbox
        self._limit = limit
        self._name = name
        self._running = 0
        self._waiting = deque()

    def submit(self, job, reply) -> None:
        """On the loop's thread. `job(answer)` may answer early; otherwise what it returns is the answer."""
        if self._running >= self._limit:
            self._waiting.append((job, reply))
            return
        # Most sessions never need one.
        import threading

        thread = threading.Thread(target=self._work, args=(job, reply), name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            missing = shortage(OSError(errno.EAGAIN, "")) or {}
            reply(error=missing.get("detail", "no thread could be started"), code=missing.get("code", "PROCESS_LIMIT"))
            return
        self._running += 1

    def _work(self, job, reply) -> None:
        def answer(result: dict) -> None:
            self._mailbox.post(lambda: reply(result))

        try:
            answer(job(answer))
        except CallError as error:
            self._fail(reply, error)
        except OSError as error:
            self._fail(reply, refusal(error))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._fail(reply, CallError("VALIDATION_FAILED", "bad parameters: %r" % error))
        except (MemoryError, RecursionError) as error:
            self._fail(reply, CallError("LIMIT_EXCEEDED", type(error).__name__))
        finally:
            self._mailbox.post(self._finished)

    def _fail(self, reply, error: CallError) -> None:
        self._mailbox.post(lambda: reply(error=str(error), code=error.code))

    def _finished(self) -> None:
        self._running -= 1
        if self._waiting:
            self.submit(*self._waiting.popleft())
