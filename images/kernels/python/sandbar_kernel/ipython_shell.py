"""User code in IPython (8 and 9): magics, `!commands`, top-level await, rich display, its tracebacks without colours."""

import atexit
import contextlib
import os
import subprocess
import sys
import types


def _import_interactive_shell():
    """IPython 8 imports its whole terminal (prompt_toolkit) and a completer (jedi) at once: 20 MB that no kernel uses."""
    stub = types.ModuleType("IPython.terminal.embed")

    def embed(**kwargs):
        from IPython.terminal.embed import embed as real

        return real(**kwargs)

    stub.embed = embed
    postponed = {"IPython.terminal.embed": stub, "jedi": None}
    postponed = {name: module for name, module in postponed.items() if name not in sys.modules}
    sys.modules.update(postponed)
    try:
        from IPython.core.interactiveshell import InteractiveShell
    finally:
        for name in postponed:
            sys.modules.pop(name, None)
    return InteractiveShell


InteractiveShell = _import_interactive_shell()

from IPython.core.async_helpers import get_asyncio_loop  # noqa: E402
from IPython.core.displayhook import DisplayHook  # noqa: E402
from IPython.core.displaypub import DisplayPublisher  # noqa: E402
from IPython.core.inputtransformer2 import TransformerManager  # noqa: E402
from traitlets import Type  # noqa: E402
from traitlets.config import Config  # noqa: E402

from . import event_loop, reserve  # noqa: E402

_HERE = os.path.dirname(os.path.abspath(__file__))
_Coroutine = types.CoroutineType
_SystemExit = SystemExit
_KeyboardInterrupt = KeyboardInterrupt
# Of these exact types; without a printer that somebody has registered they have a text form only.
_PLAIN = frozenset((int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset))
# IPython's pretty printer comes to the same text for these, on a long way.
_ATOMS = frozenset((int, str))
_repr = repr
_LINE_STARTS = (",", ";", "/")
_FRAMES = 1000
"""Of a traceback; beyond, those in the middle are left out."""


class _Printers:
    """Tells whether anybody has registered another way to show values since the kernel started."""

    def __init__(self, display_formatter) -> None:
        self._formatters = display_formatter.formatters
        self._known = list(self._formatters.values())
        everyone = (*self._known, display_formatter.ipython_display_formatter, display_formatter.mimebundle_formatter)
        self._tables = [
            table
            for formatter in everyone
            if formatter is not self._formatters.get("text/plain")
            for table in (formatter.type_printers, formatter.singleton_printers, formatter.deferred_printers)
        ]
        self._count = sum(map(len, self._tables))
        self._plain = plain = self._formatters["text/plain"]
        self._atoms = {kind: plain.type_printers.get(kind) for kind in _ATOMS}
        self._singletons = len(plain.singleton_printers)

    def plain_as_new(self, kind: type) -> bool:
        plain = self._plain
        return plain.type_printers.get(kind) is self._atoms[kind] and len(plain.singleton_printers) == self._singletons

    def as_new(self) -> bool:
        return sum(map(len, self._tables)) == self._count and list(self._formatters.values()) == self._known


class _Transforms(TransformerManager):
    """IPython takes each cell apart into tokens to find its own syntax; without these characters there is none."""

    def __init__(self) -> None:
        super().__init__()
        self._known = list(self.token_transformers)

    def do_token_transforms(self, lines):
        plain = self.token_transformers == self._known and not any(
            "%" in line or "!" in line or "?" in line or line.lstrip().startswith(_LINE_STARTS) for line in lines
        )
        return lines if plain else super().do_token_transforms(lines)


class _Hook(DisplayHook):
    """The last expression's value goes out as a bundle; `_`, `__` and `Out` are kept as always."""

    def __call__(self, result=None):
        if isinstance(result, _Coroutine):
            # Not here: the loop may be running. It is awaited when the cell is through.
            self.shell.sandbar_coroutine = result
        else:
            super().__call__(result)

    def quiet(self):
        """IPython takes the cell apart to find out whether it ends in one."""
        history = self.shell.history_manager.input_hist_parsed
        return bool(history) and ";" in history[-1] and super().quiet()

    def compute_format_data(self, result):
        kind = type(result)
        if kind in _PLAIN and self.shell.sandbar_printers.as_new():
            if kind in _ATOMS and self.shell.sandbar_printers.plain_as_new(kind):
                try:
                    return {"text/plain": _repr(result)}, {}
                except ValueError:
                    # A number of too many digits: IPython says so in its own way.
                    pass
            text = self.shell.display_formatter.formatters["text/plain"](result)
            return {} if text is None else {"text/plain": text}, {}
        return super().compute_format_data(result)

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        self.shell.sandbar_publish(format_dict, last=True)

    def finish_displayhook(self):
        pass

    def log_output(self, format_dict):
        pass


class _Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, **kwargs):
        self.shell.sandbar_publish(data)

    def clear_output(self, wait=False):
        pass


class _Shell(InteractiveShell):
    displayhook_class = Type(_Hook)
    display_pub_class = Type(_Publisher)
    sandbar_publish = None
    sandbar_traceback = None
    sandbar_coroutine = None
    sandbar_printers = None

    def _tee(self, channel):
        """IPython 9 would keep everything that is ever printed in memory, for its history."""
        return contextlib.nullcontext()

    def _format_exception_for_storage(self, exception, *args, **kwargs):
        """For its history too: IPython 9 would make each traceback a second time."""
        return {"ename": type(exception).__name__, "evalue": str(exception), "traceback": [self.sandbar_traceback or ""]}

    def should_run_async(self, raw_cell, *, transformed_cell=None, **kwargs):
        """IPython compiles the cell once more to find out; without these words there is nothing to find."""
        code = raw_cell if transformed_cell is None else transformed_cell
        if "await" not in code and "async" not in code:
            return False
        return super().should_run_async(raw_cell, transformed_cell=transformed_cell, **kwargs)

    def _showtraceback(self, etype, evalue, stb):
        self.sandbar_print_traceback()
        self.sandbar_traceback = "\n".join(stb) if isinstance(stb, list) else str(stb)

    def sandbar_print_traceback(self):
        """One that does not end the cell: of `%run`, `%tb`, or a value that cannot be shown."""
        if self.sandbar_traceback is not None:
            print(self.sandbar_traceback, file=sys.stderr)
            self.sandbar_traceback = None

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        try:
            frames = self._get_exc_info(exc_tuple)[2]
            user = None
            chain = []
            while frames is not None:
                chain.append(frames)
                if not frames.tb_frame.f_code.co_filename.startswith(_HERE):
                    user = len(chain)
                frames = frames.tb_next
            if user is not None:
                chain[user - 1].tb_next = None
                # IPython takes a millisecond for each, and nobody reads them.
                if user > _FRAMES:
                    chain[_FRAMES // 2].tb_next = chain[user - _FRAMES // 2]
        except ValueError:
            pass
        # To read the lines of code takes descriptors too.
        reserve.use()
        try:
            super().showtraceback(exc_tuple, *args, **kwargs)
        finally:
            reserve.keep()

    def enable_gui(self, gui=None):
        pass

    def init_sys_modules(self):
        super().init_sys_modules()
        sys.modules["__main__"] = self.user_module

    def system(self, cmd):
        """`!command` with our own descriptors: in order with everything else, stderr apart, in our process group."""
        sys.stdout.flush()
        sys.stderr.flush()
        command = self.var_expand(cmd, depth=1)
        process = subprocess.Popen(command, shell=True, executable=os.environ.get("SHELL") or None)
        try:
            self.user_ns["_exit_code"] = process.wait()
        except _KeyboardInterrupt:
            process.wait()
            raise

    def ask_exit(self):
        raise _SystemExit(0)


def _exit(code=None):
    """End this execution; the kernel and its variables stay."""
    raise _SystemExit(code)


class IPythonShell:
    def __init__(self, publish, figures) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "NoColor"
        config.InteractiveShell.autocall = 0
        # Not by `tempfile`, which finds no folder where nothing can be written: a full disk must not keep a kernel from starting.
        parent = os.environ.get("TMPDIR") or "/tmp"
        folder = os.path.join(parent, ".ipython")
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError:
            folder = parent
        shell = _Shell.instance(config=config, ipython_dir=folder)
        shell.sandbar_publish = publish
        shell.input_transformer_manager = _Transforms()
        shell.user_ns.update(exit=_exit, quit=_exit)
        shell.user_ns_hidden.update(exit=_exit, quit=_exit)
        shell.display_formatter.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", self._figure_png)
        shell.sandbar_printers = _Printers(shell.display_formatter)
        # They would take the shell apart, and the process ends without them anyway.
        atexit.unregister(shell.atexit_operations)
        self._shell = shell
        self._figures = figures
        self.namespace = shell.user_ns
        self.user_shell = shell
        self._run_cell = shell.run_cell
        shell.loop_runner = lambda coroutine: event_loop.run(get_asyncio_loop(), coroutine)
        # For good: what it puts among the builtins for a cell it would take out after each.
        shell.builtin_trap.__enter__()
        # The first cell and the first value cost IPython ten times as much as any other; a kernel in a warm pool has the time.
        shell.run_cell("pass", store_history=False, silent=True)
        shell.display_formatter.format(0)

    @property
    def hidden(self):
        return self._shell.user_ns_hidden

    def run(self, code: str) -> "tuple[str, dict | None, int | None]":
        shell = self._shell
        shell.sandbar_traceback = None
        result = self._run_cell(code, store_history=True)
        failure = result.error_before_exec or result.error_in_exec
        coroutine, shell.sandbar_coroutine = shell.sandbar_coroutine, None
        if coroutine is not None:
            if failure is None:
                failure = self._await(coroutine)
            else:
                coroutine.close()
        if failure is None:
            shell.sandbar_print_traceback()
            return "ok", None, None
        if isinstance(failure, _KeyboardInterrupt):
            return "interrupted", self._error(failure), None
        if isinstance(failure, _SystemExit):
            exit_code = _exit_code(failure)
            return ("ok", None, 0) if exit_code == 0 else ("error", self._error(failure), exit_code)
        return "error", self._error(failure), None

    def complete(self, code: str, cursor: int) -> "tuple[int, int, list[tuple[str, str | None]]]":
        """What IPython's own completer finds, which evaluates nothing that could have an effect."""
        from IPython.core.completer import provisionalcompleter, rectify_completions

        completer = self._shell.Completer
        # It reads the source of what it completes, and a second passes before it can.
        completer.use_jedi = False
        with provisionalcompleter():
            found = list(rectify_completions(code, completer.completions(code, cursor)))
        if not found:
            return cursor, cursor, []
        start, end = found[0].start, found[0].end
        # It takes the dot before an attribute for a part of it.
        dot = 1 if code[start : start + 1] == "." and all(match.text.startswith(".") for match in found) else 0
        names = [(match.text[dot:], match.type) for match in found]
        if start == end:
            names = [name for name in names if name[1] != "magic"]
        return start + dot, end, sorted(names, key=lambda name: name[1] == "magic")

    def _await(self, coroutine) -> "BaseException | None":
        """The last expression's own coroutine: as if the user had written `await`."""
        shell = self._shell
        try:
            value = shell.loop_runner(coroutine)
            with shell.display_trap:
                shell.displayhook(value)
        except BaseException as failure:
            shell.showtraceback()
            return failure
        return None

    def wait_idle(self, fd: int) -> None:
        helpers = sys.modules.get("IPython.core.async_helpers")
        event_loop.run_until_readable(getattr(helpers, "_asyncio_event_loop", None), fd)

    def _error(self, failure: BaseException) -> dict:
        try:
            value = str(failure)
        except BaseException:
            value = "<unprintable>"
        kind = type(failure)
        # Python 3.13's private subclass for code that just stops too early.
        name = "SyntaxError" if issubclass(kind, SyntaxError) and kind.__name__.startswith("_") else kind.__name__
        return {"name": name, "value": value, "traceback": self._shell.sandbar_traceback or ""}

    def _figure_png(self, figure):
        from .figures import png

        self._figures.displayed(figure)
        return png(figure)


def _exit_code(failure: SystemExit) -> int:
    code = failure.code
    if code is None:
        return 0
    return code if isinstance(code, int) else 1
