"""Starts a process as the leader of a session of its own, on pipes or on a terminal."""

import errno
import fcntl
import os
import signal
import struct
import termios

from guest.io.call_error import CallError

DUP2 = os.POSIX_SPAWN_DUP2
OPEN = os.POSIX_SPAWN_OPEN


class Spawned:
    __slots__ = ("pid", "stdin", "outputs")

    def __init__(self, pid: int, stdin: int, outputs: "list[tuple[int, str]]") -> None:
        self.pid = pid
        self.stdin = stdin
        self.outputs = outputs
        for fd in (stdin, *(fd for fd, _stream in outputs)):
            os.set_blocking(fd, False)


def on_pipes(argv: "list[str]", env: "dict[str, str]", cwd: str) -> Spawned:
    theirs_in, stdin = os.pipe()
    stdout, theirs_out = os.pipe()
    stderr, theirs_err = os.pipe()
    actions = [(DUP2, theirs_in, 0), (DUP2, theirs_out, 1), (DUP2, theirs_err, 2)]
    try:
        pid = _spawn(argv, env, cwd, actions)
    except BaseException:
        for fd in (stdin, stdout, stderr):
            os.close(fd)
        raise
    finally:
        for fd in (theirs_in, theirs_out, theirs_err):
            os.close(fd)
    return Spawned(pid, stdin, [(stdout, "stdout"), (stderr, "stderr")])


def on_terminal(argv: "list[str]", env: "dict[str, str]", cwd: str, cols: int, rows: int) -> Spawned:
    master, slave = os.openpty()
    try:
        set_size(master, cols, rows)
        # The first terminal that a session's leader opens becomes its controlling one.
        actions = [(OPEN, 0, os.ttyname(slave), os.O_RDWR, 0), (DUP2, 0, 1), (DUP2, 0, 2)]
        pid = _spawn(argv, env, cwd, actions)
        return Spawned(pid, os.dup(master), [(master, "stdout")])
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)


def set_size(terminal: int, cols: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def foreground_group(terminal: int) -> "int | None":
    try:
        group = struct.unpack("i", fcntl.ioctl(terminal, termios.TIOCGPGRP, b"\0\0\0\0"))[0]
    except OSError:
        return None
    return group if group > 1 else None


def _spawn(argv: "list[str]", env: "dict[str, str]", cwd: str, actions: list) -> int:
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # posix_spawn cannot change the folder for its child; it returns only after the child has its own.
        try:
            os.chdir(cwd)
        except (OSError, ValueError) as error:
            raise CallError("VALIDATION_FAILED", "cwd: %s" % (getattr(error, "strerror", None) or error)) from None
        return os.posix_spawnp(argv[0], argv, env, file_actions=actions, setsid=True, setsigmask=[],
                               setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.ENOMEM):
            raise CallError("PROCESS_LIMIT", "the sandbox has no processes left under its limits") from None
        raise CallError("VALIDATION_FAILED", "%s: %s" % (argv[0][:200], error.strerror)) from None
    except ValueError as error:
        raise CallError("VALIDATION_FAILED", str(error)) from None
    finally:
        os.fchdir(here)
        os.close(here)
