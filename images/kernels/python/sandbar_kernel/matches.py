"""What could stand at the cursor, and what is known of it without running any code of the user's."""

import builtins
import inspect
import keyword
import re
import time
import types

_SIGNATURES_S = 0.2
"""All signatures together; nobody waits longer for them."""
_CHAIN = re.compile(r"((?:[^\W\d]\w*\.)+)\w*$")
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    staticmethod,
    classmethod,
)
_PROPERTIES = (property, types.GetSetDescriptorType, types.MemberDescriptorType)
_MISSING = object()
_NAMES = {"dict key": "key", "<unknown>": None}


def matches(shell, request: dict) -> dict:
    code, cursor = request["code"], request["cursor"]
    start, end, found = shell.complete(code, cursor)
    # What nobody asked for by its first letters comes last.
    found = sorted(found, key=lambda match: match[0].startswith("_"))[: request["matches"]]
    lookup = _Lookup(shell.namespace, code[:cursor])
    described = [lookup.describe(text, kind) for text, kind in found if len(text) <= request["text"]]
    return {"start": start, "end": end, "matches": described}


class _Lookup:
    """What names stand for, without a single getter of theirs."""

    def __init__(self, namespace: dict, before: str) -> None:
        self._namespace = namespace
        self._until = time.monotonic() + _SIGNATURES_S
        chain = _CHAIN.search(before)
        self._names = chain[1].split(".")[:-1] if chain else []
        self._owner = self._walk() if chain else None

    def describe(self, text: str, kind: "str | None") -> dict:
        value = _MISSING
        if kind in ("variable", "attribute"):
            value = self._find(text)
            if value is not _MISSING:
                kind = _kind(value)
            elif kind == "variable":
                kind = "keyword" if keyword.iskeyword(text) else None
        match = {"text": text, "type": _NAMES.get(kind, kind)}
        if kind in ("function", "class") and time.monotonic() < self._until:
            signature = _signature(value)
            if signature:
                match["signature"] = signature
        return match

    def _find(self, name: str):
        if self._names:
            return _MISSING if self._owner is _MISSING else inspect.getattr_static(self._owner, name, _MISSING)
        return self._namespace.get(name, vars(builtins).get(name, _MISSING))

    def _walk(self):
        first, *rest = self._names
        value = self._namespace.get(first, vars(builtins).get(first, _MISSING))
        for name in rest:
            value = _MISSING if value is _MISSING else inspect.getattr_static(value, name, _MISSING)
            if isinstance(value, _PROPERTIES):
                return _MISSING
        return value


def _kind(value) -> str:
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    if isinstance(value, _FUNCTIONS):
        return "function"
    return "property" if isinstance(value, _PROPERTIES) else "instance"


def _signature(value) -> "str | None":
    try:
        return str(inspect.signature(value.__func__ if isinstance(value, (staticmethod, classmethod)) else value))
    except Exception:
        return None
