"""What could stand at the cursor, as a context's idle kernel knows it. Positions are UTF-16 units outside, characters in here."""

import itertools
import os
import tempfile

from guest.calls import shell_word
from guest.io.wire_json import encode

TIMEOUT_S = 2.0
MATCHES = 200
TEXT = 300
CODE_BYTES = 400_000
"""Of at most 100,000 UTF-16 units, which the API allows."""

_numbers = itertools.count(1)


def complete(guest, params: dict, reply) -> None:
    """A kernel that runs code, starts, or answers somebody else is left alone; one that is not there is not started for this."""
    code, cursor = str(params["code"]), int(params["cursor"])
    nothing = {"matches": [], "start": cursor, "end": cursor, "busy": False}
    context = guest.contexts.get(params["context"])
    if context is None or context.closed or context.state == "dead" or "\0" in code or len(encode(code)) > CODE_BYTES:
        reply(nothing)
    elif not context.idle():
        reply({**nothing, "busy": True})
    elif context.language == "bash":
        _ask_bash(context, code, cursor, nothing, reply)
    else:
        _ask(context, code, cursor, nothing, reply)


def _ask(context, code: str, cursor: int, nothing: dict, reply) -> None:
    in_units = context.language == "node"
    at = cursor if in_units else _characters(code, cursor)

    def answered(message: dict) -> None:
        result = message.get("result")
        if not isinstance(result, dict):
            reply({**nothing, "busy": context.busy()})
            return
        start, end = (_position(result.get(name), at) for name in ("start", "end"))
        start = min(start, end)
        if not in_units:
            start, end = _units(code, start), _units(code, end)
        reply({"matches": _bounded(result.get("matches")), "start": start, "end": end, "busy": False})

    request = {"op": "complete", "ask": next(_numbers), "code": code, "cursor": at, "matches": MATCHES, "text": TEXT}
    context.ask(request, TIMEOUT_S, answered, yields=True)


def _ask_bash(context, code: str, cursor: int, nothing: dict, reply) -> None:
    """It has no process to spare for this: `compgen` writes what it knows into a file."""
    word = shell_word.at_end(code[: _characters(code, cursor)])
    if word is None:
        reply(nothing)
        return
    try:
        fd, path = tempfile.mkstemp(prefix=".sandbar-")
    except OSError:
        reply(nothing)
        return

    def answered(message: dict) -> None:
        try:
            text = os.pread(fd, 1_000_000, 0).decode("utf-8", "replace")
        finally:
            os.close(fd)
            try:
                os.unlink(path)
            except OSError:
                pass
        if not isinstance(message.get("result"), dict):
            reply({**nothing, "busy": context.busy()})
            return
        matches = _bounded(shell_word.matches(word, text))
        reply({"matches": matches, "start": _units(code, word.start), "end": cursor, "busy": False})

    request = {"op": "complete", "ask": next(_numbers), "kind": word.kind, "word": word.text, "file": path}
    context.ask(request, TIMEOUT_S, answered, yields=True)


def _bounded(found) -> list:
    matches = []
    for entry in found if isinstance(found, list) else ():
        text, kind, signature = (entry.get(name) for name in ("text", "type", "signature")) if isinstance(entry, dict) else (None, None, None)
        # Half a name is none.
        if not isinstance(text, str) or not 0 < len(text) <= TEXT:
            continue
        match = {"text": text, "type": kind[:TEXT] if isinstance(kind, str) else None}
        if isinstance(signature, str) and 0 < len(signature) <= TEXT:
            match["signature"] = signature
        matches.append(match)
        if len(matches) == MATCHES:
            break
    return matches


def _position(value, cursor: int) -> int:
    return min(cursor, max(0, value)) if isinstance(value, int) else cursor


def _characters(code: str, units: int) -> int:
    """How many characters lie before a position in UTF-16 units; one in the middle of a character counts as before it."""
    for index, character in enumerate(code):
        units -= 1 if character < "\U00010000" else 2
        if units < 0:
            return index
    return len(code)


def _units(code: str, characters: int) -> int:
    return characters + sum(character >= "\U00010000" for character in code[:characters])
