"""Whom the OOM killer takes, and how often it struck in this container's cgroup (v2, else v1)."""

import os
import re
import time

from guest.system import cgroup

FIRST = 1000
"""Added to the share of the memory that a process has, in thousandths."""
KERNEL = 800
"""Far above PID 1, which must never be taken."""
MARGIN = 64 * 1024 * 1024

SOURCES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def _open() -> int:
    for path in SOURCES:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass
    return -1


# Read before and after every execution, so it stays open.
_fd = _open()

RECENT_S = 0.5
"""So long after the killer's work was seen, at most, its victim's end is."""


class Strikes:
    """The count does not say who was taken, so an end is laid at its door only when it has just risen."""

    def __init__(self) -> None:
        self.count = _kills()
        self._at = float("-inf")

    def look(self) -> None:
        count = _kills()
        if count > self.count:
            self.count = count
            self._at = time.monotonic()

    def recent(self) -> bool:
        self.look()
        return time.monotonic() - self._at < RECENT_S


def _kills() -> int:
    if _fd < 0:
        return 0
    try:
        text = os.pread(_fd, 4096, 0)
    except OSError:
        return 0
    start = text.find(b"oom_kill ")
    return int(text[start + 9 :].split(b"\n", 1)[0]) if start >= 0 else 0


def told(text: str) -> bool:
    """By a runtime whose own limit is lower: V8 says so and aborts."""
    return re.search("^(FATAL ERROR|# Fatal).*out of memory", text, re.M) is not None


def kernel_score(fork_parent: bool) -> int:
    """Low enough, while there is a fork parent, that even a kernel that has nearly all of the memory is second to it."""
    memory = cgroup.memory() if fork_parent else None
    return max(1, min(KERNEL, MARGIN * 1000 // memory[0])) if memory else KERNEL


def set_score(pid: int, score: int) -> bool:
    """False when it may work in a moment: until a new process has fully become its program, it is as closed to us as we are to it."""
    try:
        with open("/proc/%d/oom_score_adj" % pid, "w") as file:
            file.write(str(score))
    except PermissionError:
        return False
    except OSError:
        pass
    return True
