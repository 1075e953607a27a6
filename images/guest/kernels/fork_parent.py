"""One process that has imported what the session's Python kernels import, and forks new ones: a restart then costs no import.

It is there only after code has used those modules, and while there is memory to spare; the OOM killer takes it first.
Whatever happens to it, kernels then start as they always did.
"""

import os
import signal
import socket

from guest import limits
from guest.io.loop import Loop
from guest.io.wire_json import loads
from guest.kernels import languages
from guest.kernels.spawn import spawn
from guest.system import cgroup, process_tree
from guest.system.environment import ENV_TAG, environment
from guest.system.reaper import Reaper

MODULES = ("numpy", "pandas")
OWNER = "fork parent"
NO_TAG = "0" * 16
"""Overwritten in each kernel, so as long as a tag."""


class ForkParent:
    def __init__(self, loop: Loop, reaper: Reaper, idle, on_change) -> None:
        self._loop = loop
        self._reaper = reaper
        self._idle = idle
        self._on_change = on_change
        self._enabled = os.environ.get("SANDBAR_KERNEL_PRELOAD") != "off"
        self._starts_left = limits.FORK_PARENT_STARTS
        self._wanted = ()
        self._wanted_env = {}
        self._timer = None
        self._watch = None
        self._pid = 0
        self._socket = None
        self._loaded = ()
        self._env = {}
        self._ready = self._was_ready = False

    def execution_began(self) -> None:
        if self._pid and self._watch is None:
            self._watch = self._loop.after(limits.FORK_PARENT_WATCH_S, self._give_way)

    def execution_ended(self, imported, env: "dict[str, str]") -> None:
        """`imported`: which modules the kernel has, if that is news."""
        if isinstance(imported, list):
            used = tuple(name for name in MODULES if name in imported)
            if not set(used) <= set(self._wanted):
                self._wanted = used
                self._wanted_env = env
        if self._enabled and self._starts_left and self._timer is None and not set(self._wanted) <= set(self._loaded):
            self._timer = self._loop.after(limits.FORK_PARENT_DELAY_S, self._consider)

    def fork(self, env: "dict[str, str]", fds: "dict[int, int]") -> "int | None":
        """The new kernel's pid. The modules were imported under one environment and serve no other."""
        if not self._ready or _untagged(env) != self._env:
            return None
        gate_r, gate = os.pipe()
        try:
            self._socket.settimeout(limits.FORK_S)
            socket.send_fds(self._socket, [env[ENV_TAG].encode()], [*(fds[number] for number in sorted(fds)), gate_r])
            pid = loads(self._socket.recv(256)).get("pid")
            self._socket.setblocking(False)
            if not isinstance(pid, int) or not _is_our_child(pid):
                return None
            # A kernel that we did not wait for must not speak on descriptors that another one has got by now.
            os.write(gate, b"!")
            return pid
        except (OSError, ValueError, AttributeError):
            self._drop()
            return None
        finally:
            os.close(gate_r)
            os.close(gate)

    @property
    def alive(self) -> bool:
        return self._pid != 0

    def is_it(self, pid: int) -> bool:
        return self._pid == pid

    def owned(self) -> "dict[str, set[int]]":
        # By its session alone: whoever copies its environment does not become it.
        return {OWNER: {self._pid}} if self._pid else {}

    def _consider(self) -> None:
        self._timer = None
        if _has_room():
            self._start()

    def _give_way(self) -> None:
        """Before memory gets scarce. The OOM killer takes it first too, but has been seen to take a second process before the first is gone."""
        self._watch = None
        memory = cgroup.memory()
        if memory is None or memory[1] > memory[0] * limits.FORK_PARENT_GIVES_WAY:
            self._drop()
        elif not self._idle():
            self._watch = self._loop.after(limits.FORK_PARENT_WATCH_S, self._give_way)

    def _start(self) -> None:
        self._drop()
        self._starts_left -= 1
        env = environment(self._wanted_env, NO_TAG)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        try:
            argv = [*languages.FORK_PARENT.argv(), *self._wanted]
            self._pid = pid = spawn(argv, env, {0: null, 1: null, 2: null, 3: theirs.fileno()})
        except OSError:
            self._drop()
            return
        finally:
            theirs.close()
            os.close(null)
        self._env = _untagged(env)
        self._loaded = self._wanted
        self._reaper.expect(pid, lambda _status: self._on_exit(pid))
        self._socket.setblocking(False)
        self._loop.watch(self._socket.fileno(), self._on_message)
        self._on_change()

    def _on_message(self, _events: int) -> None:
        """It speaks once without being asked."""
        try:
            self._ready = bool(self._socket.recv(256))
            self._was_ready |= self._ready
        except BlockingIOError:
            return
        except OSError:
            self._ready = False
        if not self._ready:
            self._hang_up()

    def _on_exit(self, pid: int) -> None:
        if pid == self._pid:
            # Otherwise it cannot import them here, or has threads that cannot be forked.
            self._enabled = self._was_ready
            self._forget()

    def _drop(self) -> None:
        if self._pid:
            process_tree.signal_process(self._pid, signal.SIGKILL)
        self._forget()

    def _forget(self) -> None:
        self._ready = self._was_ready = False
        self._loaded = ()
        self._hang_up()
        if self._pid:
            self._pid = 0
            self._on_change()

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._loop.unwatch(self._socket.fileno())
            self._socket.close()
            self._socket = None


def _has_room() -> bool:
    memory, pids = cgroup.memory(), cgroup.pids()
    if memory is None or pids is None:
        return False
    return memory[0] >= limits.FORK_PARENT_MEMORY and memory[1] < memory[0] // 2 and pids[1] < pids[0] // 2


def _untagged(env: "dict[str, str]") -> "dict[str, str]":
    return {key: value for key, value in env.items() if key != ENV_TAG}


def _is_our_child(pid: int) -> bool:
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1]) == os.getpid()
    except OSError:
        return False
