"""JSON as the guest reads it. Built from C functions that user code cannot patch."""

import json.encoder
import math

_join = "".join
_isfinite = math.isfinite


def _text(value) -> str:
    return str(value)


_encode = json.encoder.c_make_encoder(None, _text, json.encoder.c_encode_basestring_ascii, None, ":", ",", False, True, False)


def dumps(value) -> bytes:
    try:
        return _join(_encode(value, 0)).encode()
    except ValueError:
        return _join(_encode(_plain(value, 0), 0)).encode()


def _plain(value, depth: int):
    """Without the infinities, which JSON does not have, and without cycles."""
    if isinstance(value, float):
        return value if _isfinite(value) else None
    if depth > 50:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    return value
