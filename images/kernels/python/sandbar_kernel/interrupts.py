"""SIGINT: ends user code, never the kernel's own. It comes to the whole process group."""

import _signal
import sys

# Without the enumerations that `signal` makes of each number and handler.
_set_handler = _signal.signal
_SIGINT = _signal.SIGINT


class Interrupts:
    def __init__(self, channel) -> None:
        self._channel = channel
        self._running = False
        self._pending = False
        self._others = sys.unraisablehook
        sys.unraisablehook = self._on_unraisable
        self._install()

    def begin(self) -> None:
        """Anew for each execution: an earlier one may have put its own handler in, or SIG_IGN."""
        self._install()
        self._pending = False
        self._running = True

    def end(self) -> None:
        self._running = False

    def check(self) -> None:
        """After a send: deliver what came during it."""
        if self._pending:
            self._pending = False
            if self._running:
                raise KeyboardInterrupt

    def _install(self) -> None:
        _set_handler(_SIGINT, self._on_signal)

    def _on_signal(self, _number, _frame) -> None:
        if not self._running:
            return
        if self._channel.sending:
            self._pending = True
            return
        raise KeyboardInterrupt

    def _on_unraisable(self, unraisable) -> None:
        """Where Python lets no exception through (`__del__`, callbacks, hooks of a fork) the interrupt is lost: it has to come again."""
        # One that comes now would be lost too.
        self._channel.sending += 1
        try:
            if self._running and unraisable.exc_type is KeyboardInterrupt:
                self._pending = True
            else:
                self._others(unraisable)
            while self._pending:
                self._pending = False
                self._channel.send({"op": "unheard"})
        finally:
            self._channel.sending -= 1
