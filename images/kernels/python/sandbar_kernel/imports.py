"""An import that is interrupted takes its package out of `sys.modules`, but not the submodules that were complete. The next import would
find those there and not tie them to the new package: `import asyncio` would fail for good.
"""

import sys

_modules = sys.modules


class Imports:
    def __init__(self) -> None:
        self._known = _orphans()

    def drop_halves(self) -> None:
        for name in _orphans() - self._known:
            _modules.pop(name, None)


def _orphans() -> "set[str]":
    return {name for name in list(_modules) if type(name) is str and name.partition(".")[0] not in _modules}
