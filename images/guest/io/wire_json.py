"""JSON as both wires need it: UTF-8 that every parser takes, whatever a kernel put in."""

import json
import math
from json.encoder import c_make_encoder, encode_basestring as quote

# As `json.loads` and `json.dumps` do it, without what they do anew for each call.
_scan = json.JSONDecoder().scan_once
_pieces = c_make_encoder(None, json.JSONEncoder().default, quote, None, ":", ",", False, False, False)


def loads(line: bytes):
    text = line.decode("utf-8", "surrogatepass")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    # With space around it, or no JSON at all.
    return value if end == len(text) else json.loads(text)


def dumps(value) -> str:
    try:
        return "".join(_pieces(value, 0))
    except ValueError:
        return "".join(_pieces(_finite(value), 0))


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
