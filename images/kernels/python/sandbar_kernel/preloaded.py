"""Modules that were imported before the kernel was forked. They stay out of sight until user code imports them, and are taken only if its
own import would have found the same file: whoever put another numpy on `sys.path` gets that one.
"""

import importlib
import importlib.abc
import importlib.machinery
import os
import site
import sys

_SUFFIXES = tuple(importlib.machinery.all_suffixes())


class _Group:
    """What the import of one module brought with it."""

    def __init__(self, modules: dict, needs: "list[_Group]") -> None:
        self.modules = modules
        self.needs = needs

    def reveal(self) -> None:
        for group in self.needs:
            group.reveal()
        for name, module in self.modules.items():
            sys.modules.setdefault(name, module)
        # Whoever removes them from there and imports again wants new ones.
        self.modules = {}


class Preloaded(importlib.abc.MetaPathFinder):
    def __init__(self, path: "list[str]") -> None:
        self._path = path
        self._standard = set()
        """Top-level names of the standard library that came along: these stay in sight."""
        self._groups = []

    def load(self, names: "list[str]") -> None:
        for name in names:
            before = set(sys.modules)
            importlib.import_module(name)
            fresh = {key: sys.modules[key] for key in list(sys.modules) if key not in before}
            self._standard |= {_top(key) for key in fresh if _top(key) in sys.stdlib_module_names}
            # Those without a spec are not modules but what extension modules share with each other.
            kept = {key: module for key, module in fresh.items()
                    if _top(key) not in sys.stdlib_module_names and getattr(module, "__spec__", None) is not None}
            # A package belongs together, whoever imported the rest of it.
            for group in self._groups:
                tops = set(map(_top, group.modules))
                group.modules.update((key, kept.pop(key)) for key in list(kept) if _top(key) in tops)
            self._groups.append(_Group(kept, self._groups[:1]))

    def shadowed(self) -> bool:
        """True when a new kernel could find something else under one of the names."""
        if site.ENABLE_USER_SITE and os.path.exists(site.getusersitepackages()):
            return True
        names = self._standard.union(*(map(_top, group.modules) for group in self._groups))
        for entry in ("", *self._path):
            if not _is_ours(entry) and _may_hold(entry, names):
                return True
        return False

    def hide(self) -> None:
        """In the new kernel."""
        random = sys.modules.get("numpy.random")
        if random is not None:
            random.seed()
        sys.path[1:] = self._path
        for group in self._groups:
            for name in group.modules:
                sys.modules.pop(name, None)
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        group = next((group for group in self._groups if name in group.modules), None)
        if group is None or name in sys.modules:
            return None
        module = group.modules[name]
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.origin != module.__spec__.origin:
            return None
        spec.loader = _Revealer(group, module)
        return spec


class _Revealer:
    """A module's own loader, except that there is nothing left to load."""

    def __init__(self, group: _Group, module) -> None:
        self._group = group
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module) -> None:
        module.__spec__ = self._spec
        self._group.reveal()

    def __getattr__(self, name: str):
        return getattr(self._spec.loader, name)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _is_ours(entry: str) -> bool:
    """Nobody in the sandbox can put anything there."""
    if entry == "" or os.access(entry, os.W_OK):
        return False
    return os.path.isdir(entry) or not os.path.lexists(entry)


def _may_hold(entry: str, names: "set[str]") -> bool:
    try:
        files = os.listdir(entry or ".")
    except FileNotFoundError:
        return False
    except OSError:
        # An archive, perhaps.
        return True
    return any(_top(file) in names and ("." not in file or file.endswith(_SUFFIXES)) for file in files)
