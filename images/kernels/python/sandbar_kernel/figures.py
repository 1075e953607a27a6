"""matplotlib as in a notebook: figures leave as PNG at `show()` and at the end of a cell. Nothing is imported before user code does."""

import binascii
import importlib.abc
import importlib.util
import io
import sys

_modules = sys.modules
_base64 = binascii.b2a_base64
_BytesIO = io.BytesIO
PYPLOT = "matplotlib.pyplot"


class Figures(importlib.abc.MetaPathFinder):
    def __init__(self, publish) -> None:
        self._publish = publish
        self._shown = set()
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name != PYPLOT:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module) -> None:
                execute(module)

                def show(*_args, **_kwargs) -> None:
                    """Every open figure, now."""
                    self.flush()

                module.show = show

            spec.loader.exec_module = exec_module
        return spec

    def begin(self) -> None:
        self._shown.clear()

    def displayed(self, figure) -> None:
        """Sent as a value already: closed without being sent again."""
        self._shown.add(id(figure))

    def flush(self) -> None:
        pyplot = _modules.get(PYPLOT)
        if pyplot is None or not hasattr(pyplot, "get_fignums"):
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if id(figure) not in self._shown:
                self._publish({"text/plain": repr(figure), "image/png": png(figure)})
        pyplot.close("all")


def png(figure) -> str:
    buffer = _BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return _base64(buffer.getvalue(), newline=False).decode()
