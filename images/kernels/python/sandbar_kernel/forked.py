"""Answers that may need user code, made in a forked child: whatever that code does, loops, prints, raises or changes, hurts nobody."""

import os
import warnings

_fork = os.fork
_exit = os._exit
_waitpid = os.waitpid
_open = os.open
_close = os.close
_write = os.write
_dup2 = os.dup2
_memfd = os.memfd_create if hasattr(os, "memfd_create") else None
_lseek = os.lseek
_pread = os.pread


def ask(work, channel, **more) -> "tuple[bytes, int]":
    """What `work` writes to the descriptor that it is given, and the child's status. OSError: there is no room for a child.
    The guest hears its pid, with `more`, and kills one that takes too long.
    """
    fd = _memfd("answer")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = _fork()
        if pid == 0:
            try:
                null = _open("/dev/null", os.O_RDWR)
                for number in (0, 1, 2):
                    _dup2(null, number)
                _first_victim()
                work(fd)
            finally:
                _exit(0)
        channel.send({"op": "child", "pid": pid, **more})
        status = _wait(pid)
        return _pread(fd, _lseek(fd, 0, os.SEEK_END), 0), status
    finally:
        _close(fd)


def _first_victim() -> None:
    """Memory that it takes must not cost the kernel its life."""
    try:
        score = _open("/proc/self/oom_score_adj", os.O_WRONLY)
        _write(score, b"1000")
        _close(score)
    except OSError:
        pass


def _wait(pid: int) -> int:
    while True:
        try:
            return _waitpid(pid, 0)[1]
        except InterruptedError:
            continue
        except ChildProcessError:
            # Code has a handler that collects every child.
            return 0
