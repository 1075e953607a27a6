"""Descriptors for the kernel alone: code that has used up all others must not keep the next execution from its pipes.

While user code runs the soft limit is a little lower than it may be. What the code itself makes of the limit stays.
"""

import resource

_get = resource.getrlimit
_set = resource.setrlimit
_FILES = resource.RLIMIT_NOFILE
_COUNT = 8

_lowered = None


def keep() -> None:
    global _lowered
    soft, hard = _get(_FILES)
    if soft != _lowered and soft > 2 * _COUNT:
        _lowered = soft - _COUNT
        _set(_FILES, (_lowered, hard))


def use() -> None:
    global _lowered
    soft, hard = _get(_FILES)
    if soft == _lowered:
        _set(_FILES, (min(soft + _COUNT, hard), hard))
    _lowered = None
