"""Answers that may need user code, made in a forked child: whatever that code does, loops, prints, raises or changes, hurts nobody."""

import errno
import gc
import os
import signal
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
_pipe = os.pipe
_read = os.read
_setsid = os.setsid
_signal = signal.signal


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


def away(work) -> int:
    """A process that works on while the kernel takes code, and that is no child of the kernel: none of its own would wait for it.
    OSError: there is no room for one.
    """
    mine, theirs = _pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            between = _fork()
            if between == 0:
                pid = 0
                try:
                    pid = _fork()
                    if pid == 0:
                        _leave(work)
                finally:
                    _write(theirs, b"%d" % pid)
                    _exit(0)
        _close(theirs)
        theirs = -1
        pid = int(_read(mine, 32) or b"0")
        _wait(between)
        if pid == 0:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return pid
    finally:
        _close(mine)
        if theirs >= 0:
            _close(theirs)


def _leave(work) -> None:
    try:
        _setsid()
        _signal(signal.SIGINT, signal.SIG_IGN)
        # It would touch every object, and each page that is touched is a page more.
        gc.disable()
        null = _open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            _dup2(null, number)
        _first_victim()
        work()
    finally:
        _exit(0)


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
