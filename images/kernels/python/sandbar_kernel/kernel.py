"""The kernel's own loop: one request after another, each with its own descriptors, streams and environment."""

import builtins
import fcntl
import io
import os
import sys
import warnings

from . import completion, reserve, snapshot, state_calls
from .bundles import Bundles
from .channel import Channel
from .figures import Figures
from .imports import Imports
from .interrupts import Interrupts
from .streams import Owners, Stream, flush, flush_c

_dup2 = os.dup2
_close = os.close
_open = os.open
_O_RDONLY = os.O_RDONLY
_O_WRONLY = os.O_WRONLY
_fcntl = fcntl.fcntl
_F_DUPFD_CLOEXEC = fcntl.F_DUPFD_CLOEXEC
_environ = os.environ
_exit = os._exit
_waitpid = os.waitpid
_WNOHANG = os.WNOHANG
_KeyboardInterrupt = KeyboardInterrupt
_TextIOWrapper = io.TextIOWrapper
_FileIO = io.FileIO
_BufferedReader = io.BufferedReader
_input = builtins.input
_vars = builtins.__dict__
_modules = sys.modules
_access = os.access
_W_OK = os.W_OK
_PRELOADABLE = ("numpy", "pandas")
"""Slow to import, and the same whatever the kernel did before."""
_NO_FILES = (
    "[Errno 24] Too many open files: the kernel has no file descriptors left to run this code; "
    "stop what keeps them open, or restart the context, which loses its variables"
)


_ERROR_CHARS = 200_000


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


def _no_input(prompt="") -> str:
    raise EOFError("input() has nothing to read: this execution was given no `stdin`")


class Kernel:
    def __init__(self) -> None:
        self._channel = Channel()
        self._owners = Owners()
        self._interrupts = Interrupts(self._channel)
        self._null = _fcntl(0, _F_DUPFD_CLOEXEC, 10)
        self._new_streams()
        self._bundles = Bundles(self._say, self._say_and_wait, self._flush, self._owners.foreign, self._say_late)
        self._figures = Figures(self._bundles.publish)
        self._stdin_given = True
        self._set_stdin(None)
        os.register_at_fork(before=self._flush_everything)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._shell = self._make_shell()
        self._builtins = dict(_vars)
        self._imports = Imports()
        self._imported = []
        warnings.filterwarnings("ignore", message="To exit: use 'exit'")

    def serve(self) -> None:
        # What code changes of these later is its state, too.
        born = dict(_environ), list(sys.path)
        self._channel.send({"op": "ready"})
        while True:
            self._shell.wait_idle(self._channel.fileno())
            self._channel.wait()
            reserve.use()
            request, fds = self._channel.receive()
            op = request["op"]
            if op == "run":
                self._run(request, fds)
            elif op == "env":
                self._set_env(request["env"])
                born[0].update(request["env"])
            elif op == "enter":
                self._enter(request["folder"])
            elif op == "reap":
                self._reap()
            elif op == "state":
                snapshot.take(self._shell.namespace, self._shell.hidden, request, self._channel)
            elif op == "complete":
                completion.answer(self._shell, request, self._channel)
            elif op == "dump":
                state_calls.dump(self._shell, request, self._channel, born)
            elif op == "load":
                state_calls.load(self._shell, request, self._channel, self._interrupts)
            reserve.keep()

    def _make_shell(self):
        try:
            from .ipython_shell import IPythonShell
        except ImportError:
            from .plain_shell import PlainShell

            return PlainShell(self._bundles.publish)
        return IPythonShell(self._bundles.publish, self._figures)

    def _run(self, request: dict, fds: "list[int]") -> None:
        if len(fds) < request["fds"]:
            for fd in fds:
                _close(fd)
            error = {"op": "error", "name": "OSError", "value": _NO_FILES, "traceback": "OSError: " + _NO_FILES}
            self._channel.end(error, {"op": "done", "status": "error"})
            return
        self._owners.hand_over(lambda: self._take_over(request["id"], *fds[:2]))
        # What an earlier execution broke is whole again; what it added stays.
        for name, value in self._builtins.items():
            if _vars.get(name) is not value:
                _vars[name] = value
        self._set_stdin(fds[2] if len(fds) > 2 else None)
        self._begin_streams()
        saved = self._set_env(request["env"])
        self._bundles.begin(request["id"], request["mime_value_limit"], request["mime_total_limit"])
        self._figures.begin()
        exit_code = None
        reserve.keep()
        try:
            self._interrupts.begin()
            status, error, exit_code = self._shell.run(request["code"])
            self._figures.flush()
            self._interrupts.end()
        except _KeyboardInterrupt:
            self._interrupts.end()
            status, error = "interrupted", None
        except BaseException as failure:
            self._interrupts.end()
            status, error = "error", {"name": type(failure).__name__, "value": str(failure), "traceback": repr(failure)}
        self._end_streams()
        if not self._channel.ours():
            # A forked child that ran to the end of the cell: the kernel is its parent.
            _exit(0)
        self._restore_env(saved)
        self._bundles.end()
        if status == "interrupted":
            self._imports.drop_halves()
        messages = [] if error is None else [{"op": "error", **_bounded(error)}]
        done = {"op": "done", "status": status}
        if exit_code is not None:
            done["exit_code"] = exit_code
        if self._newly_imported():
            done["imported"] = self._imported
        self._channel.end(*messages, done)

    def _take_over(self, ident: str, out: int, err: int) -> None:
        _dup2(out, 1)
        _dup2(err, 2)
        _close(out)
        _close(err)
        self._owners.begin(ident)

    def _newly_imported(self) -> bool:
        """Modules that a later kernel could have from the start; not those that user code brought itself."""
        known = len(self._imported)
        for name in _PRELOADABLE:
            if name in _modules and name not in self._imported:
                file = getattr(_modules[name], "__file__", None)
                if type(file) is str and not _access(file, _W_OK):
                    self._imported.append(name)
        return len(self._imported) > known

    def _say(self, line: bytes) -> None:
        self._channel.send_line(line)
        self._interrupts.check()

    def _say_late(self, text: str) -> None:
        if self._channel.ours():
            self._channel.send({"op": "late", "stream": "stdout", "text": text})

    def _say_and_wait(self, line: bytes) -> None:
        self._channel.send_line_and_wait(line)
        self._interrupts.check()

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, self._stdout, self._stderr):
            flush(stream)

    def _flush_everything(self) -> bool:
        self._flush()
        return self._settle()

    def _settle(self) -> bool:
        return self._stdout.settle() & self._stderr.settle() & flush_c()

    def _new_streams(self) -> None:
        self._stdout = Stream(1, "stdout", self._channel, self._owners)
        self._stderr = Stream(2, "stderr", self._channel, self._owners)
        sys.stdout = sys.__stdout__ = self._stdout
        sys.stderr = sys.__stderr__ = self._stderr

    def _begin_streams(self) -> None:
        out, err = self._stdout, self._stderr
        if not (out.usable() and err.usable()):
            self._new_streams()
            return
        out.begin()
        err.begin()
        sys.stdout = out
        sys.stderr = err

    def _end_streams(self) -> None:
        """What cannot be written now, since user code has closed a descriptor or put another in its place, must not come out later."""
        if sys.stdout is not self._stdout or sys.stderr is not self._stderr:
            self._flush()
            # Somebody's own streams go while their complaints still belong to this execution.
            sys.stdout, sys.stderr = self._stdout, self._stderr
        if not self._settle():
            null = _open("/dev/null", _O_WRONLY)
            _dup2(null, 1)
            _dup2(null, 2)
            if null > 2:
                _close(null)
            self._settle()

    def _set_stdin(self, fd: "int | None") -> None:
        try:
            _dup2(self._null if fd is None else fd, 0)
        except OSError:
            self._null = _fcntl(_open("/dev/null", _O_RDONLY), _F_DUPFD_CLOEXEC, 10)
            _dup2(self._null, 0)
        if fd is None and not self._stdin_given and not sys.stdin.closed:
            _vars["input"] = _no_input
            return
        sys.stdin = sys.__stdin__ = _TextIOWrapper(_BufferedReader(_FileIO(0, "r", closefd=False)), encoding="utf-8", errors="replace")
        _vars["input"] = _no_input if fd is None else _input
        self._stdin_given = fd is not None
        if fd is not None:
            _close(fd)

    def _enter(self, folder: str) -> None:
        try:
            os.chdir(folder)
            # It remembers what the covered folder had to import.
            sys.path_importer_cache.pop(folder, None)
            self._channel.send({"op": "answer", "result": {}})
        except OSError as error:
            self._channel.send({"op": "answer", "error": str(error)})

    @staticmethod
    def _reap() -> None:
        try:
            while _waitpid(-1, _WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

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
