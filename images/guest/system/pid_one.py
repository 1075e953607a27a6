"""What Python's standard library does not wrap: prctl, signalfd; and the state of the process at start."""

import ctypes
import os
import resource
import signal
import struct

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
SFD_NONBLOCK = os.O_NONBLOCK
SFD_CLOEXEC = os.O_CLOEXEC
SIGINFO_SIZE = 128

_libc = ctypes.CDLL(None, use_errno=True)


def hide_from_same_user() -> None:
    _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def prepare() -> None:
    # Children are wired to descriptors 0-4 by dup2; a source that already had such a number would be clobbered.
    while os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC) < 5:
        pass
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getpid() != 1:
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    enter_session()


def enter_session() -> str:
    for folder in ("/session/artifacts", "/session/data"):
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError:
            pass
    # Kernels inherit the working directory.
    for folder in (os.environ.get("SANDBAR_SESSION", "/session"), "/tmp"):
        try:
            os.chdir(folder)
            return folder
        except OSError:
            pass
    os.chdir("/")
    return "/"


def signal_descriptor(signals: "list[int]") -> int:
    """A signalfd: unlike a Python handler it tells who sent a signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    mask = ctypes.create_string_buffer(128)
    _libc.sigemptyset(mask)
    for number in signals:
        _libc.sigaddset(mask, int(number))
    fd = _libc.signalfd(-1, mask, SFD_NONBLOCK | SFD_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    return fd


def read_signals(fd: int) -> "list[tuple[int, int]]":
    """(signal number, sender's pid); the pid is 0 when the sender is outside of this pid namespace."""
    try:
        data = os.read(fd, SIGINFO_SIZE * 16)
    except BlockingIOError:
        return []
    found = []
    for start in range(0, len(data), SIGINFO_SIZE):
        number, _errno, _code, pid = struct.unpack_from("=Iiii", data, start)
        found.append((number, pid))
    return found
