"""What a namespace holds, as users see it. Asking a value for its text may run code of theirs."""

import reprlib
import sys
import types

_repr = repr
_getsizeof = sys.getsizeof
_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, bytearray)


class Variables:
    def __init__(self, namespace: dict, hidden, most: int, repr_chars: int) -> None:
        named = [(name, value) for name, value in namespace.items()
                 if isinstance(name, str) and not name.startswith("_") and name not in hidden]
        self.imports = sorted({value.__name__ for _, value in named if type(value) is types.ModuleType})
        items = [item for item in named if type(item[1]) is not types.ModuleType]
        self.total = len(items)
        self.items = items[:most]
        self._chars = repr_chars
        self._short = reprlib.Repr()
        self._short.maxstring = self._short.maxother = repr_chars
        for name in ("maxlist", "maxtuple", "maxset", "maxfrozenset", "maxdict"):
            setattr(self._short, name, 20)

    def repr_of(self, value) -> str:
        return str(self._short.repr(value) if isinstance(value, _CONTAINERS) else _repr(value))[: self._chars]

    @staticmethod
    def type_of(value) -> str:
        return str(type(value).__name__)

    @staticmethod
    def size_of(value) -> int:
        return int(_getsizeof(value))
