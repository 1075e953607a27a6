"""The Python kernel inside WebAssembly: no descriptors, processes, threads or signals of its own. A JavaScript worker calls it and hears it.

It is made before the memory's snapshot is taken and told who it speaks to afterwards, since no JavaScript object outlives that.
"""

import builtins
import contextvars
import io
import json
import os
import random
import sys
import time
import warnings

from . import event_loop
from .bundles import Bundles
from .figures import Figures
from .imports import Imports
from .matches import matches
from .plain_shell import PlainShell
from .urllib_over_fetch import UrllibOverFetch
from .variables import Variables
from .wire_json import dumps

_ERROR_CHARS = 200_000
_PROMPT_WRITES = 2000
"""So many pieces of a line per execution leave at once; whoever writes more gets them at most every _FLUSH_S."""
_FLUSH_S = 0.01
_DEPENDENCIES = "/opt/sandbar/deps"

_REHEARSED = ("print(end='')\n1 + 1", "1 + 1", "'text'", "[].x")

_base_write = io.TextIOWrapper.write
_base_flush = io.TextIOWrapper.flush
_monotonic = time.monotonic
_loads = json.loads
_vars = builtins.__dict__
_environ = os.environ
_KeyboardInterrupt = KeyboardInterrupt
_input = builtins.input
_execution = contextvars.ContextVar("sandbar_execution", default=None)


class _Stream(io.TextIOWrapper):
    """Over descriptor 1 or 2, behind which JavaScript takes the bytes."""

    def __init__(self, fd: int, name: str, kernel: "WasmKernel") -> None:
        raw = io.FileIO(fd, "w", closefd=False)
        self._below = io.BufferedWriter(raw, 65536)
        super().__init__(self._below, encoding="utf-8", errors="backslashreplace", newline="\n")
        self._sandbar = (name, kernel)
        self._partial = 0
        self._flushed = 0.0

    def write(self, text: str) -> int:
        name, kernel = self._sandbar
        if kernel.foreign():
            kernel.say({"op": "late", "stream": name, "text": text})
            return len(text)
        written = _base_write(self, text)
        if "\n" in text:
            _base_flush(self)
        elif text:
            self._partial += 1
            now = _monotonic() if self._partial >= _PROMPT_WRITES else 0.0
            if not now or now - self._flushed > _FLUSH_S:
                self._flushed = now
                _base_flush(self)
        return written

    def begin(self) -> None:
        self._partial = 0

    def usable(self) -> bool:
        try:
            return not (self.closed or self.buffer.closed)
        except ValueError:
            # Taken apart.
            return False

    def settle(self) -> None:
        for stream in (self, self._below):
            try:
                stream.flush()
            except Exception:
                pass

    def isatty(self) -> bool:
        return False


class _Shell(PlainShell):
    task = None

    def _await(self, coroutine):
        import asyncio

        # There is one loop, JavaScript's own; nothing else could run while one of Python's did.
        self._loop = asyncio.get_event_loop()
        self.task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(self.task)
        except asyncio.CancelledError:
            if self.interrupted:
                raise _KeyboardInterrupt from None
            raise
        finally:
            self.task = None

    interrupted = False


kernel = None


def make() -> None:
    global kernel
    kernel = WasmKernel()


class WasmKernel:
    def __init__(self) -> None:
        self._host = None
        self._current = None
        self._sleeping = time.sleep
        self._new_streams()
        self._bundles = Bundles(self._say_line, self._say_line, self._flush, self.foreign, self._say_late)
        self._figures = Figures(self._bundles.publish)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._shell = _Shell(self._bundles.publish)
        self._builtins = dict(_vars)
        self._imports = Imports()

    def attach(self, host, env: str, network: bool) -> None:
        """In the process that will run code: what the snapshot has that must differ between any two is made anew."""
        self._host = host
        random.seed()
        time.sleep = self._sleep
        _environ.update(_loads(env))
        os.chdir("/session")
        own = ["", *([_DEPENDENCIES] if os.path.isdir(_DEPENDENCIES) else [])]
        sys.path[:] = [*own, *(entry for entry in sys.path if entry not in own)]
        sys.argv = [""]
        if network:
            sys.meta_path.insert(0, UrllibOverFetch())
        self._new_streams()

    def rehearse(self, number: int) -> None:
        """A cell of nobody's, whose words nobody takes, and which leaves nothing in the namespace."""
        limits = {"mime_value_limit": 100, "mime_total_limit": 100}
        code = _REHEARSED[number % len(_REHEARSED)]
        self.run(json.dumps({"id": "", "code": code, "env": {}, "stdin": None, **limits}))
        self._shell.forget()

    # What JavaScript calls

    def run(self, line: str) -> None:
        request = _loads(line)
        self._current = request["id"]
        _execution.set(self._current)
        for name, value in self._builtins.items():
            if _vars.get(name) is not value:
                _vars[name] = value
        time.sleep = self._sleep
        self._set_stdin(request["stdin"])
        self._begin_streams()
        saved = self._set_env(request["env"])
        self._bundles.begin(request["id"], request["mime_value_limit"], request["mime_total_limit"])
        self._figures.begin()
        self._shell.interrupted = False
        exit_code = None
        try:
            status, error, exit_code = self._shell.run(request["code"])
            if status == "error" and self._shell.interrupted:
                status, error = "interrupted", None
            self._figures.flush()
        except _KeyboardInterrupt:
            status, error = "interrupted", None
        except BaseException as failure:
            status, error = "error", {"name": type(failure).__name__, "value": str(failure), "traceback": repr(failure)}
        self._end(status, error, exit_code, saved)

    def _end(self, status: str, error, exit_code, saved: dict) -> None:
        self._end_streams()
        self._restore_env(saved)
        self._bundles.end()
        if status == "interrupted":
            self._imports.drop_halves()
        if error is not None:
            self.say({"op": "error", "id": self._current, **_bounded(error)})
        done = {"op": "done", "id": self._current, "status": status}
        if exit_code is not None:
            done["exit_code"] = exit_code
        self.say(done)

    def cancel(self) -> None:
        """An interrupt that came while the code waited for something: no instruction of Python's runs that could notice it.

        What it waits for without `await` ends with an error of its own.
        """
        self._shell.interrupted = True
        if self._shell.task is not None:
            self._shell.task.cancel()

    def set_env(self, env: str) -> None:
        self._set_env(_loads(env))

    def state(self, line: str) -> None:
        request = _loads(line)
        found = Variables(self._shell.namespace, self._shell.hidden, request["variables"], request["repr"])
        variables, late = [], False
        for name, value in found.items:
            entry = {"name": name, "type": "?", "repr": "<not read: time was up>", "size": None}
            variables.append(entry)
            if late:
                continue
            try:
                entry["type"] = found.type_of(value)
                entry["repr"] = found.repr_of(value)
                entry["size"] = found.size_of(value)
            except _KeyboardInterrupt:
                entry["repr"] = "<repr did not come in time>"
                late = True
            except BaseException as failure:
                entry["repr"] = "<repr raised %s>" % type(failure).__name__
        try:
            cwd = os.getcwd()
        except OSError:
            cwd = ""
        result = {"cwd": cwd, "imports": found.imports, "total": found.total, "variables": variables}
        self.say({"op": "answer", "ask": request["ask"], "result": result})

    def complete(self, line: str) -> None:
        request = _loads(line)
        try:
            answer = {"result": matches(self._shell, request)}
        except BaseException as failure:
            answer = {"error": "%s: %s" % (type(failure).__name__, failure)}
        self.say({"op": "answer", "ask": request["ask"], **answer})

    # What it says

    def say(self, message: dict) -> None:
        self._say_line(dumps(message))

    def _say_line(self, line: bytes) -> None:
        self._host.say(line.decode())

    def _say_late(self, text: str) -> None:
        self.say({"op": "late", "stream": "stdout", "text": text})

    def foreign(self) -> bool:
        """Of a task that an earlier execution left behind."""
        owner = _execution.get()
        return owner is not None and owner != self._current

    # Around user code

    def _sleep(self, seconds) -> None:
        if not seconds >= 0:
            # Says what is wrong with it.
            self._sleeping(seconds)
        until = _monotonic() + seconds
        while True:
            left = until - _monotonic()
            if left <= 0:
                return
            # Ends at once with an interrupt; Python notices that between two of its own instructions.
            self._host.sleep(left * 1000)

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, self._stdout, self._stderr):
            try:
                stream.flush()
            except Exception:
                pass

    def _new_streams(self) -> None:
        self._stdout = _Stream(1, "stdout", self)
        self._stderr = _Stream(2, "stderr", self)
        sys.stdout = sys.__stdout__ = self._stdout
        sys.stderr = sys.__stderr__ = self._stderr

    def _begin_streams(self) -> None:
        if not (self._stdout.usable() and self._stderr.usable()):
            self._new_streams()
        self._stdout.begin()
        self._stderr.begin()
        sys.stdout, sys.stderr = self._stdout, self._stderr

    def _end_streams(self) -> None:
        if sys.stdout is not self._stdout or sys.stderr is not self._stderr:
            self._flush()
            sys.stdout, sys.stderr = self._stdout, self._stderr
        self._stdout.settle()
        self._stderr.settle()

    @staticmethod
    def _set_stdin(text: "str | None") -> None:
        raw = io.BytesIO((text or "").encode("utf-8", "surrogatepass"))
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(raw, encoding="utf-8", errors="replace")
        _vars["input"] = _no_input if text is None else _input

    @staticmethod
    def _set_env(env: dict) -> dict:
        saved = {}
        for key, value in env.items():
            saved[key] = _environ.get(key)
            _environ[key] = value
        return saved

    @staticmethod
    def _restore_env(saved: dict) -> None:
        for key, value in saved.items():
            if value is None:
                _environ.pop(key, None)
            else:
                _environ[key] = value


def _no_input(prompt="") -> str:
    raise EOFError("input() has nothing to read: this execution was given no `stdin`")


def _bounded(error: dict) -> dict:
    """What the guest cuts anyway, at a length that fits its lines whatever the characters are."""
    lengths = {}
    value, traceback = error["value"], error["traceback"]
    if len(value) > _ERROR_CHARS:
        lengths["error"] = len(value)
        value = value[:_ERROR_CHARS]
    if len(traceback) > _ERROR_CHARS:
        lengths["traceback"] = len(traceback)
        traceback = traceback[: _ERROR_CHARS // 2] + traceback[-_ERROR_CHARS // 2 :]
    return {**error, "value": value, "traceback": traceback, "lengths": lengths}
