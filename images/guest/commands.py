"""Long-running commands, apart from executions: each outlives whoever asked for it, its output waits in its ring."""

import os
import shlex
import signal
import time

import languages
import processes
import spawn
from calls import CallError
from command_streams import Input, Output
from ring import Ring

COMMANDS = 64
REMEMBERED = 256
FORGOTTEN = 10_000
"""Ids of commands that are gone, which are not started again."""
STRAGGLER_S = 0.02
STRAGGLER_LOOKS = 50
LAG_BYTES = 256 * 1024
"""A terminal whose every viewer is so far behind waits for the fastest of them."""
SHOWN_COMMAND = 1000


class Command:
    def __init__(self, commands: "Commands", params: dict) -> None:
        self._commands = commands
        self._loop = commands.guest.loop
        self.id = str(params["process"])
        self.digest = params.get("digest")
        self.linger_s = params.get("linger_s")
        self.tag = os.urandom(8).hex()
        self.cwd = str(params.get("cwd") or os.environ.get("SANDBAR_SESSION", "/session"))
        self.size = params.get("pty")
        env = dict(params.get("env") or {})
        if self.size:
            env = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **env}
        env = languages.environment(env, self.tag)
        argv, self.shown = _argv(params)
        self._oom_strikes = commands.guest.oom_strikes
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
        commands.guest.rank_victim(self.pid)
        commands.guest.reaper.expect(self.pid, self._on_exit)
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
            processes.signal_group(group, number)

    def kill(self, looks: int = STRAGGLER_LOOKS) -> None:
        """Everything that came of it, wherever it hid."""
        if self.exit is None:
            processes.signal_group(self.pid, signal.SIGKILL)
        foreign = self._commands.guest.owned()
        foreign.pop(self.tag, None)
        if processes.kill_members(self.tag, {self.pid}, foreign) and looks > 0:
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


class Commands:
    def __init__(self, guest) -> None:
        self.guest = guest
        self._commands = {}
        self._done = {}
        """Calls that must not be done twice, when the daemon's question came twice."""
        self._gone = {}

    def start(self, params: dict) -> Command:
        found = self._commands.get(str(params["process"]))
        if found is not None:
            if found.digest != params.get("digest"):
                raise CallError("IDEMPOTENCY_CONFLICT", "the process was started with another request")
            return found
        if str(params["process"]) in self._gone:
            raise CallError("PROCESS_GONE", "the process that this key has started was deleted, or made room for others")
        while len(self._commands) >= COMMANDS:
            ended = next((command for command in self._commands.values() if command.exit is not None), None)
            if ended is None:
                raise CallError("PROCESS_LIMIT", "%d processes run in this session" % COMMANDS)
            self.remove(ended.id)
        command = Command(self, params)
        self._commands[command.id] = command
        self._share()
        return command

    def get(self, ident) -> Command:
        command = self._commands.get(ident)
        if command is None:
            raise CallError("NOT_FOUND", "no such process")
        return command

    def all(self) -> "list[Command]":
        return list(self._commands.values())

    def remove(self, ident: str) -> None:
        command = self._commands.pop(ident, None)
        if command is None:
            return
        self._gone[ident] = None
        if len(self._gone) > FORGOTTEN:
            del self._gone[next(iter(self._gone))]
        self._share()
        command.killed = True
        command.kill()
        if command.exit is not None:
            command.close()
        else:
            command.watchers.add(lambda: command.exit is not None and command.close())

    def _share(self) -> None:
        for command in self._commands.values():
            command.ring.share(len(self._commands))

    def once(self, params: dict) -> bool:
        """True for the first time that a call of this id is seen."""
        ident = params.get("once")
        if ident is None:
            return True
        if ident in self._done:
            return False
        self._done[ident] = True
        if len(self._done) > REMEMBERED:
            del self._done[next(iter(self._done))]
        return True

    def owned(self) -> "dict[str, set[int]]":
        """Tags and sessions, so that the end of a context does not take them for its own."""
        return {command.tag: {command.pid} for command in self._commands.values()}


def _argv(params: dict) -> "tuple[list[str], str]":
    argv = params.get("argv")
    if argv:
        argv = [str(word) for word in argv]
        return argv, " ".join(shlex.quote(word) for word in argv)
    command = str(params["command"])
    return [languages.environment({}, "")["SHELL"], "-c", command], command
