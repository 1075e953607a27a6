"""Positions in text: the API counts UTF-16 units, Python characters."""

from __future__ import annotations


def units_of(text: str, characters: int) -> int:
    return len(text[:characters].encode("utf-16-le", "surrogatepass")) // 2


def characters_of(text: str, units: int) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass"))
