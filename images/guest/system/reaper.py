"""Waits for every child, ours or adopted."""

import os
import time

from guest.system.process_tree import stat_fields

SETTLE_S = 1.0
"""The guest stands still for so long at most, until what it has killed is gone: it takes a few milliseconds."""


class Reaper:
    def __init__(self) -> None:
        self._watched = {}

    def expect(self, pid: int, on_exit) -> None:
        self._watched[pid] = on_exit

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            on_exit = self._watched.pop(pid, None)
            if on_exit is not None:
                on_exit(status)

    def settle(self, killed: "set[int]") -> None:
        """Until they have given back what they had; their places under the pids limit they keep until they are reaped."""
        left = killed - self._watched.keys()
        deadline = time.monotonic() + SETTLE_S
        while left and time.monotonic() < deadline:
            for pid in list(left):
                try:
                    gone = os.waitpid(pid, os.WNOHANG)[0] == pid
                except ChildProcessError:
                    # A zombie whose parent lives on is that one's to reap.
                    fields = stat_fields(pid)
                    gone = not fields or (fields[0] == b"Z" and int(fields[1]) not in left | {os.getpid()})
                if gone:
                    left.discard(pid)
            if left:
                time.sleep(0.001)
