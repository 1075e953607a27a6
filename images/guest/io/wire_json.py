"""JSON as both wires need it: UTF-8 that every parser takes, whatever a kernel put in."""

import json
import math
from json.encoder import encode_basestring as quote  # noqa: F401

loads = json.loads
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def dumps(value) -> str:
    try:
        return _encode(value)
    except ValueError:
        return _encode(_finite(value))


def encode(text: str) -> bytes:
    """Lone surrogates are legal in Python's strings and JSON, not in UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _finite(value, depth: int = 0):
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if depth > 100:
        return None
    if isinstance(value, dict):
        return {key: _finite(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item, depth + 1) for item in value]
    return value
