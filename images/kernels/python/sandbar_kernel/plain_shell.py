"""User code without IPython, for images that have only Python: last expression shown, top-level await, rich `_repr_*_` methods."""

import ast
import builtins
import inspect
import linecache
import os
import re
import sys
import traceback
import types

from . import event_loop

_compile = builtins.compile
_eval = builtins.eval
_HERE = os.path.dirname(os.path.abspath(__file__))
_KeyboardInterrupt = KeyboardInterrupt
_SystemExit = SystemExit
_METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
}


class PlainShell:
    hidden = ("exit", "quit", "display")

    def __init__(self, publish) -> None:
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        module.__dict__.update(__builtins__=builtins, display=self._display, exit=_exit, quit=_exit)
        self.namespace = module.__dict__
        self._publish = publish
        self._count = 0
        self._loop = None

    def run(self, code: str) -> "tuple[str, dict | None, int | None]":
        self._count += 1
        filename = "<cell %d>" % self._count
        linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)
        try:
            tree = ast.parse(code, filename)
            last = None
            if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";"):
                last = ast.Expression(tree.body.pop().value)
            for part, mode in ((tree, "exec"), (last, "eval")):
                if part is None:
                    continue
                value = self._evaluate(_compile(part, filename, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
                if inspect.iscoroutine(value):
                    value = self._await(value)
                if mode == "eval" and value is not None:
                    self.namespace["_"] = value
                    self._display(value)
        except _KeyboardInterrupt as failure:
            return "interrupted", self._error(failure, filename), None
        except _SystemExit as failure:
            code = failure.code if isinstance(failure.code, int) else 0 if failure.code is None else 1
            return ("ok", None, 0) if code == 0 else ("error", self._error(failure, filename), code)
        except BaseException as failure:
            return "error", self._error(failure, filename), None
        return "ok", None, None

    def forget(self) -> None:
        """The cell that has just run."""
        self._count -= 1
        self.namespace.pop("_", None)

    def complete(self, code: str, cursor: int) -> "tuple[int, int, list[tuple[str, str | None]]]":
        import rlcompleter

        text = re.search(r"[\w.]*$", code[:cursor])[0]
        completer = rlcompleter.Completer(self.namespace)
        found = completer.attr_matches(text) if "." in text else completer.global_matches(text) if text else []
        owner = text.rpartition(".")[0]
        start = cursor - len(text) + (len(owner) + 1 if owner else 0)
        kind = "attribute" if owner else "variable"
        names = (match.rstrip("( ):").rpartition(".")[2] for match in found)
        return start, cursor, [(name, kind) for name in dict.fromkeys(names)]

    def wait_idle(self, fd: int) -> None:
        event_loop.run_until_readable(self._loop, fd)

    def _evaluate(self, code):
        if code.co_flags & inspect.CO_COROUTINE:
            return self._await(_eval(code, self.namespace))
        return _eval(code, self.namespace)

    def _await(self, coroutine):
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return event_loop.run(self._loop, coroutine)

    def _display(self, *values, raw: bool = False, **_ignored) -> None:
        for value in values:
            self._publish(value if raw else _bundle(value))

    @staticmethod
    def _error(failure: BaseException, filename: str) -> dict:
        frames = failure.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != filename:
            frames = frames.tb_next
        last = frames
        while last is not None and last.tb_next is not None:
            if last.tb_next.tb_frame.f_code.co_filename.startswith(_HERE):
                last.tb_next = None
            last = last.tb_next
        try:
            value = str(failure)
        except BaseException:
            value = "<unprintable>"
        text = "".join(traceback.format_exception(type(failure), failure, frames))
        return {"name": type(failure).__name__, "value": value, "traceback": text}


def _bundle(value) -> dict:
    bundle = {"text/plain": repr(value)}
    if isinstance(value, type):
        return bundle
    for method, mime in _METHODS.items():
        try:
            data = getattr(value, method, None)
            data = data() if callable(data) else None
        except Exception:
            continue
        if data is not None:
            bundle[mime] = data[0] if isinstance(data, tuple) else data
    try:
        more = getattr(value, "_repr_mimebundle_", None)
        more = more() if callable(more) else None
    except Exception:
        more = None
    if more:
        bundle.update(more[0] if isinstance(more, tuple) else more)
    return bundle


def _exit(code=None):
    raise _SystemExit(code)
