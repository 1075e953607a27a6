"""The fork parent: imports at leisure, then forks one kernel for each request.

It runs no user code and nothing from where user code can write, so its children start as clean as any new kernel.
"""

import array
import gc
import importlib
import os
import signal
import socket
import sys
import threading
import time
import warnings

from .wire_json import dumps
from .preloaded import Preloaded
from .start import start

CONTROL_FD = 3
TAG = "SANDBAR_CONTEXT"
LAZY = ("sandbar_kernel.ipython_shell", "IPython.core.completer", "IPython.core.completerlib", "IPython.core.magics")
"""What a kernel imports while it is being made."""
FORK_SAFE_THREADS = ("jemalloc_bg_thd",)
"""Threads that survive in the parent and are made anew in the child by their own library."""
THREAD_LOOKS = 100
THREAD_LOOK_S = 0.02


class ForkParent:
    def __init__(self, modules: "list[str]", path: "list[str]", write_bytecode: bool) -> None:
        """`path`: what follows our own folder on a kernel's `sys.path`."""
        self._socket = socket.socket(fileno=CONTROL_FD)
        self._modules = modules
        self._write_bytecode = write_bytecode
        self._preloaded = Preloaded(path)
        self._tag_address = _tag_address()

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._import_in_background()
        if not _forks_safely():
            sys.exit("threads are running")
        gc.collect()
        gc.freeze()
        self._socket.send(dumps({"ready": True}))
        while True:
            request, ancillary, _flags, _address = self._socket.recvmsg(4096, socket.CMSG_SPACE(5 * 4), socket.MSG_CMSG_CLOEXEC)
            if not request:
                return
            fds = array.array("i")
            for _level, _kind, payload in ancillary:
                fds.frombytes(payload)
            pid = None if self._preloaded.shadowed() else self._fork(request, list(fds))
            for fd in fds:
                os.close(fd)
            self._socket.send(dumps({"pid": pid}))

    def _import_in_background(self) -> None:
        """In a thread that gives way to everybody: it could not take its priority back, and a fork inherits the main thread's."""
        failures = []

        def work() -> None:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
            try:
                for name in LAZY:
                    try:
                        importlib.import_module(name)
                    except ImportError:
                        pass
                self._preloaded.load(self._modules)
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    def _fork(self, tag: bytes, fds: "list[int]") -> int:
        """Through a second fork, so that the kernel becomes the guest's child: it must learn how it ends, whatever happens to us."""
        mine, theirs = os.pipe()
        between = _fork_quietly()
        if between == 0:
            kernel = _fork_quietly()
            if kernel == 0:
                self._become_kernel(tag, fds)
            os.write(theirs, b"%d" % kernel)
            os._exit(0)
        os.close(theirs)
        pid = int(os.read(mine, 32) or b"0")
        os.close(mine)
        os.waitpid(between, 0)
        return pid

    def _become_kernel(self, tag: bytes, fds: "list[int]") -> None:
        try:
            *fds, gate = fds
            if os.read(gate, 1) == b"":
                # The guest has given up waiting for us.
                return
            os.setsid()
            self._socket.detach()
            for target, fd in enumerate(fds):
                os.dup2(fd, target)
            os.closerange(4, 1024)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.environ[TAG] = tag.decode()
            with open("/proc/self/mem", "r+b", buffering=0) as memory:
                memory.seek(self._tag_address)
                memory.write(tag)
            self._preloaded.hide()
            start(self._write_bytecode)
        finally:
            os._exit(70)


def _fork_quietly() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _tag_address() -> int:
    """Where the tag lies in memory that /proc/<pid>/environ shows: the guest reads there whose process it is."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    with open("/proc/self/environ", "rb") as file:
        environ = b"\0" + file.read()
    return int(fields[47]) + environ.index(b"\0%s=" % TAG.encode()) + len(TAG) + 1


def _forks_safely() -> bool:
    """Libraries that know about fork end their threads before it; whoever still runs a while after one does not know."""
    child = _fork_quietly()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(THREAD_LOOKS):
        others = [task for task in os.listdir("/proc/self/task") if int(task) != os.getpid()]
        if all(_name(task) in FORK_SAFE_THREADS for task in others):
            return True
        time.sleep(THREAD_LOOK_S)
    return False


def _name(task: str) -> str:
    try:
        with open("/proc/self/task/%s/comm" % task) as file:
            return file.read().strip()
    except OSError:
        return FORK_SAFE_THREADS[0]
