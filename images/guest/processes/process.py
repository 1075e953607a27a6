"""One process of the API, apart from executions: it outlives whoever asked for it, its output waits in its ring."""

import os
import signal
import time

from guest.io.call_error import CallError
from guest.processes import spawn
from guest.processes.ring import Ring
from guest.processes.streams import Input, Output
from guest.system import process_tree
from guest.system.environment import environment

STRAGGLER_S = 0.02
STRAGGLER_LOOKS = 50
LAG_BYTES = 256 * 1024
"""A terminal whose every viewer is so far behind waits for the fastest of them."""
SHOWN_COMMAND = 1000


class Process:
    def __init__(self, guest, params: dict) -> None:
        self._guest = guest
        self._loop = guest.loop
        self.id = str(params["process"])
        self.digest = params.get("digest")
        self.linger_s = params.get("linger_s")
        self.tag = os.urandom(8).hex()
        self.cwd = str(params.get("cwd") or os.environ.get("SANDBAR_SESSION", "/session"))
        self.size = params.get("pty")
        env = dict(params.get("env") or {})
        if self.size:
            env = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **env}
        env = environment(env, self.tag)
        argv, self.shown = _argv(params)
        self._oom_strikes = guest.oom_strikes
        if self.size:
            spawned = spawn.on_terminal(argv, env, self.cwd, int(self.size["cols"]), int(self.size["rows"]))
        else:
            spawned = spawn.on_pipes(argv, env, self.cwd)
        self.pid = spawned.pid
        self.started_at = time.time()
        self.exit = None
        self.killed = False
        self.ring = Ring()
        self.watchers = set()
        """Called after each change: new output, or the end."""
        self.viewers = set()
        self._linger = None
        self._terminal = spawned.outputs[0][0] if self.size else -1
        self.input = Input(self._loop, spawned.stdin)
        self._outputs = [Output(self._loop, fd, stream, self.ring, self._changed) for fd, stream in spawned.outputs]
        guest.rank_victim(self.pid)
        guest.reaper.expect(self.pid, self._on_exit)
        self.view(None)

    @property
    def last_seq(self) -> int:
        """The end has a number of its own, after all output."""
        return self.ring.last_seq + (1 if self.exit else 0)

    def describe(self, whole: bool = True) -> dict:
        shown = self.shown if whole else self.shown[:SHOWN_COMMAND]
        return {
            "process": self.id,
            "pid": self.pid,
            "command": shown,
            "cwd": self.cwd,
            "pty": self.size,
            "started_at": self.started_at,
            "last_seq": self.last_seq,
            "dropped_bytes": self.ring.dropped_bytes,
            "exit": self.exit,
        }

    def signal(self, number: int) -> None:
        if self.exit is not None and number != signal.SIGKILL:
            return
        if number == signal.SIGKILL:
            self.killed = True
            self.kill()
            return
        groups = {self.pid}
        if self._terminal >= 0:
            # An interactive shell gives each job a group of its own.
            groups.add(spawn.foreground_group(self._terminal) or self.pid)
        for group in groups:
            process_tree.signal_group(group, number)

    def kill(self, looks: int = STRAGGLER_LOOKS) -> None:
        """Everything that came of it, wherever it hid."""
        if self.exit is None:
            process_tree.signal_group(self.pid, signal.SIGKILL)
        foreign = self._guest.owned()
        foreign.pop(self.tag, None)
        if process_tree.kill_members(self.tag, {self.pid}, foreign) and looks > 0:
            self._loop.after(STRAGGLER_S, lambda: self.kill(looks - 1))

    def resize(self, cols: int, rows: int) -> None:
        if not self.size:
            raise CallError("NOT_A_TERMINAL", "the process has no terminal; start it with pty")
        if self._terminal >= 0:
            spawn.set_size(self._terminal, cols, rows)
        self.size = {"cols": cols, "rows": rows}

    def close(self) -> None:
        self.input.close()
        for output in self._outputs:
            output.close()
        self._terminal = -1
        if self._linger is not None:
            self._linger.cancel()

    # Viewers of a terminal

    def view(self, viewer, leaves: bool = False) -> None:
        if leaves:
            self.viewers.discard(viewer)
        elif viewer is not None:
            self.viewers.add(viewer)
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        if self.linger_s is not None and not self.viewers and self.exit is None:
            self._linger = self._loop.after(float(self.linger_s), lambda: self.signal(signal.SIGKILL))
        self.pace()

    def pace(self) -> None:
        behind = min((self.ring.bytes_after(viewer.cursor) for viewer in self.viewers), default=0)
        for output in self._outputs:
            output.hold(self.exit is None and behind > LAG_BYTES)

    def _changed(self) -> None:
        for watcher in list(self.watchers):
            watcher()
        if self.viewers:
            self.pace()

    def _on_exit(self, status: int) -> None:
        for output in self._outputs:
            output.drain()
        signaled = os.WIFSIGNALED(status)
        number = os.WTERMSIG(status) if signaled else None
        self.exit = {
            "exit_code": None if signaled else os.WEXITSTATUS(status),
            "signal": number,
            "oom": number == signal.SIGKILL and not self.killed and self._oom_strikes.recent(),
            "finished_at": time.time(),
        }
        self.input.close()
        if self.size:
            self.close()
        self._changed()


def _argv(params: dict) -> "tuple[list[str], str]":
    argv = params.get("argv")
    if argv:
        import shlex

        argv = [str(word) for word in argv]
        return argv, " ".join(shlex.quote(word) for word in argv)
    command = str(params["command"])
    return [environment({}, "")["SHELL"], "-c", command], command
