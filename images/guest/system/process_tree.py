"""The system's processes: who belongs to a context or a process of the API, however it forked; killing all of them."""

import os
import signal
import time

from guest.system import cgroup
from guest.system.environment import ENV_TAG

FREEZE_PASSES = 10
CROWDED = 0.75
"""Of the processes that the sandbox may have: whoever needs a new one is about to fail."""
TICKS = os.sysconf("SC_CLK_TCK")


def _open_loadavg() -> int:
    try:
        return os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


_LOADAVG = _open_loadavg()
"""Its last word is the number of the newest process; open, since it is read at each execution."""


def signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        pass


def signal_process(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def kill_members(tag: str, sessions: "set[int]", foreign: "dict[str, set[int]]") -> int:
    """SIGKILL for every process of a context; the number of those that were still there at the last look.

    A process belongs by its session, by the tag in its environment, or by descent. As PID 1 we also take those that belong to
    nobody: whoever hides where it comes from goes with the first context that is killed.
    `foreign` are the tags and sessions of the other contexts.
    """
    return len(_kill(lambda table: _members(table, tag, sessions, foreign)))


def kill_leftovers(tag: str, sessions: "set[int]", foreign: "dict[str, set[int]]", kernel: int, began: "tuple[float, int]") -> "set[int]":
    """SIGKILL for what an execution that was interrupted has left behind: every process of its context that is younger than the
    execution, except the kernel and the offspring of older processes. In a crowded sandbox, which would otherwise be of no more use,
    the older ones go too.
    """
    # The table tells a start in whole ticks, rounded down; within that of the beginning, the number tells who was there.
    since, newest = (0, 0) if crowded() else (int(began[0] * TICKS), began[1])
    me = os.getpid()

    def find(table) -> "set[int]":
        def left_behind(pid: int) -> bool:
            while pid in table and pid not in (kernel, me):
                parent, _session, start, _state = table[pid]
                if start < since or (start == since and pid <= newest):
                    return False
                pid = parent
            return True

        members = _members(table, tag, sessions, foreign)
        return {pid for pid in members if pid != kernel and left_behind(pid)}

    return _kill(find)


def now() -> "tuple[float, int]":
    """On the clock by which processes' starts are told, and the number of the process that was made last."""
    return time.clock_gettime(time.CLOCK_BOOTTIME), _newest()


def _newest() -> int:
    try:
        return int(os.pread(_LOADAVG, 128, 0).rsplit(None, 1)[-1])
    except (OSError, ValueError, IndexError):
        return 0


def crowded() -> bool:
    pids = cgroup.pids()
    return pids is not None and pids[1] >= pids[0] * CROWDED


def _kill(find) -> "set[int]":
    """`find` tells from the table whom to kill."""
    found = set()
    if os.getpid() == 1:
        # Everybody is stopped at once, which no fork escapes: one by one, a process that forks and ends at once is always elsewhere.
        # A fork bomb would also leave us no processor to look around with, so in a crowd nobody is asked who was stopped before.
        stopped = set() if crowded() else {pid for pid, row in _table().items() if row[3] == b"T"}
        signal_process(-1, signal.SIGSTOP)
        table = _table()
        found = find(table)
        for pid in found:
            signal_process(pid, signal.SIGKILL)
        # Children first: a shell that found one of its jobs stopped would say so.
        for pid in sorted(table.keys() - found - stopped, key=lambda pid: (table[pid][2], pid), reverse=True):
            signal_process(pid, signal.SIGCONT)
        return found
    for _ in range(FREEZE_PASSES):
        fresh = find(_table()) - found
        if not fresh:
            break
        for pid in fresh:
            signal_process(pid, signal.SIGSTOP)
        found |= fresh
    for pid in found:
        signal_process(pid, signal.SIGKILL)
    return found


def kill_everything(sessions: "set[int]") -> None:
    if os.getpid() == 1:
        signal_process(-1, signal.SIGKILL)
    for pid in sessions:
        signal_group(pid, signal.SIGKILL)


def _members(table: "dict[int, tuple]", tag: str, sessions: "set[int]", foreign: "dict[str, set[int]]") -> "set[int]":
    me = os.getpid()
    owners = {session: mark for mark, owned in foreign.items() for session in owned}
    owners.update((session, tag) for session in sessions)
    tags = set(foreign) | {tag}

    def owner(pid: int) -> "str | None":
        seen = 0
        strange = False
        while pid > 1 and pid != me and seen < 1000:
            if pid not in table:
                break
            parent, session, _start, _state = table[pid]
            mark = owners.get(session) or owners.get(pid) or _tag_of(pid, tags)
            if mark:
                return mark
            # Only a process that came from outside of the container (`docker exec`) has no parent here.
            strange = strange or parent == 0
            pid = parent
            seen += 1
        return "outside" if strange else None

    unowned_too = me == 1
    members = set()
    for pid in table:
        if pid == me or pid == 1:
            continue
        mark = owner(pid)
        if mark == tag or (mark is None and unowned_too):
            members.add(pid)
    return members


def _table() -> "dict[int, tuple[int, int, int, bytes]]":
    """Of each living process its parent, its session, its start and its state."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = stat_fields(int(name))
            if fields and fields[0] not in (b"Z", b"X"):
                table[int(name)] = (int(fields[1]), int(fields[3]), int(fields[19]), fields[0])
    return table


def stat_fields(pid: int) -> "list[bytes]":
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            stat = file.read()
    except OSError:
        return []
    # The command, in parentheses, may itself contain anything.
    return stat[stat.rindex(b")") + 2 :].split()


def _tag_of(pid: int, tags: "set[str]") -> "str | None":
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            environ = file.read(256 * 1024)
    except OSError:
        return None
    key = (ENV_TAG + "=").encode()
    for entry in environ.split(b"\0"):
        if entry.startswith(key):
            mark = entry[len(key) :].decode("ascii", "replace")
            return mark if mark in tags else None
    return None
