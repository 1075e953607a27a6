"""One epoll loop with timers. A handler that raises is reported and does not end PID 1."""

import heapq
import itertools
import select
import sys
import time

READ = select.EPOLLIN
WRITE = select.EPOLLOUT


class Timer:
    __slots__ = ("when", "order", "action")

    def __init__(self, when: float, order: int, action) -> None:
        self.when = when
        self.order = order
        self.action = action

    def __lt__(self, other: "Timer") -> bool:
        return (self.when, self.order) < (other.when, other.order)

    def cancel(self) -> None:
        self.action = None


class Loop:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers = {}
        self._timers = []
        self._order = itertools.count()
        self._stopped = False
        # Called once before each wait, so that everything that one turn produced leaves in one write.
        self.before_wait = lambda: None

    def watch(self, fd: int, handler, events: int = READ) -> None:
        if fd in self._handlers:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
        self._handlers[fd] = handler

    def unwatch(self, fd: int) -> None:
        if self._handlers.pop(fd, None) is not None:
            try:
                self._epoll.unregister(fd)
            except OSError:
                pass

    def after(self, delay: float, action) -> Timer:
        timer = Timer(time.monotonic() + delay, next(self._order), action)
        heapq.heappush(self._timers, timer)
        return timer

    def stop(self) -> None:
        self._stopped = True

    def run(self) -> None:
        while not self._stopped:
            self.attempt(self.before_wait)
            for fd, events in self._epoll.poll(self._patience()):
                handler = self._handlers.get(fd)
                if handler is not None:
                    self.attempt(handler, events)
            if self._timers:
                self._fire()
        self.attempt(self.before_wait)

    def _patience(self) -> float:
        timers = self._timers
        while timers and timers[0].action is None:
            heapq.heappop(timers)
        return max(0.0, timers[0].when - time.monotonic()) if timers else -1

    def _fire(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0].when <= now:
            action = heapq.heappop(self._timers).action
            if action is not None:
                self.attempt(action)

    @staticmethod
    def attempt(action, *args) -> None:
        try:
            action(*args)
        except Exception:
            import traceback

            traceback.print_exc(file=sys.stderr)
