"""Who belongs to a context, however it forked; killing all of them; reaping everything."""

import os
import signal

ENV_TAG = "SANDBAR_CONTEXT"
FREEZE_PASSES = 10


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
    # Stopped processes keep their places under the pids limit, so a fork bomb cannot outrun the scan.
    found = set()
    for _ in range(FREEZE_PASSES):
        fresh = _members(tag, sessions, foreign) - found
        if not fresh:
            break
        for pid in fresh:
            signal_process(pid, signal.SIGSTOP)
        found |= fresh
    for pid in found:
        signal_process(pid, signal.SIGKILL)
    return len(found)


def kill_everything(sessions: "set[int]") -> None:
    if os.getpid() == 1:
        signal_process(-1, signal.SIGKILL)
    for pid in sessions:
        signal_group(pid, signal.SIGKILL)


def _members(tag: str, sessions: "set[int]", foreign: "dict[str, set[int]]") -> "set[int]":
    table = _table()
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
            parent, session = table[pid]
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


def _table() -> "dict[int, tuple[int, int]]":
    table = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as file:
                stat = file.read()
        except OSError:
            continue
        # The command, in parentheses, may itself contain anything.
        fields = stat[stat.rindex(b")") + 2 :].split()
        if fields[0] not in (b"Z", b"X"):
            table[int(name)] = (int(fields[1]), int(fields[3]))
    return table


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


def set_oom_score(pid: int, score: int) -> bool:
    """False when it may work in a moment: until a new process has fully become its program, it is as closed to us as we are to it."""
    try:
        with open("/proc/%d/oom_score_adj" % pid, "w") as file:
            file.write(str(score))
    except PermissionError:
        return False
    except OSError:
        pass
    return True
