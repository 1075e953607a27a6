"""Values that were too large to be kept and, unlike text, could not be cut."""

from __future__ import annotations

from collections.abc import Mapping


def left_out(truncated: Mapping[str, int]) -> list[str]:
    named = [f"{mime} of {total} characters" for mime, total in truncated.items() if "/" in mime]
    count = truncated.get("results")
    what = named or ([f"{count} values"] if count else [])
    return [f"too large and left out: {value}" for value in what]
