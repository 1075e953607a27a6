"""SIGINT: ends user code, never the kernel's own. It comes to the whole process group."""

import _signal
import sys
import warnings

# Without the enumerations that `signal` makes of each number and handler.
_set_handler = _signal.signal
_SIGINT = _signal.SIGINT
_SHOWN_BY = (warnings.WarningMessage.__init__, getattr(warnings, "_showwarnmsg", None))
_SHOW = [getattr(one, "__code__", None) for one in _SHOWN_BY]


class Interrupts:
    def __init__(self, channel) -> None:
        self._channel = channel
        self._running = False
        self._pending = False
        self._raised = self._lost = False
        self._rooms = frozenset()
        self._others = sys.unraisablehook
        sys.unraisablehook = self._on_unraisable
        self._install()

    def begin(self) -> None:
        """Anew for each execution: an earlier one may have put its own handler in, or SIG_IGN."""
        self._install()
        self._pending = self._raised = self._lost = False
        self._running = True

    def end(self) -> None:
        self._running = self._lost = False

    def check(self) -> None:
        """After a send: deliver what came during it."""
        if self._pending:
            self._pending = False
            if self._running:
                self._raise()

    def _install(self) -> None:
        _set_handler(_SIGINT, self._on_signal)

    def _on_signal(self, _number, frame) -> None:
        if not self._running:
            return
        if self._channel.sending:
            self._pending = True
            return
        outside = _outside_warnings(frame)
        if outside is frame or outside is None:
            self._raise()
        self._raised = self._lost = True
        self._raise_at_next_line(outside)

    def _raise(self) -> None:
        self._raised = True
        raise KeyboardInterrupt

    def _on_unraisable(self, unraisable) -> None:
        """Where Python lets no exception through (`__del__`, callbacks, hooks of a fork) the interrupt is lost: the next line raises it."""
        # One that comes now would be lost too.
        self._channel.sending += 1
        try:
            if self._running and self._raised and unraisable.exc_type is KeyboardInterrupt:
                self._lost = True
            else:
                self._others(unraisable)
            if self._lost or self._pending:
                self._lost = True
                self._pending = False
                self._raise_at_next_line(_outside_warnings(sys._getframe(1)))
        finally:
            self._channel.sending -= 1

    def _raise_at_next_line(self, frame) -> None:
        rooms = set()
        while frame is not None:
            frame.f_trace = self._on_line
            rooms.add(id(frame.f_globals))
            frame = frame.f_back
        self._rooms = frozenset(rooms)
        sys.settrace(self._on_line)

    def _on_line(self, frame, event, _value):
        if not self._lost:
            if sys.gettrace() == self._on_line:
                sys.settrace(None)
            return None
        if id(frame.f_globals) not in self._rooms:
            return None
        if event == "line" and not self._channel.sending:
            self._lost = False
            # Python ends the tracing where its function raises.
            self._raise()
        return self._on_line


def _outside_warnings(frame):
    """Python forgets what is raised while it shows some of its own warnings, such as that of a fork beside threads."""
    outside = frame
    while frame is not None:
        if frame.f_code in _SHOW:
            outside = frame.f_back
        frame = frame.f_back
    return outside
