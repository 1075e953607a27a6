"""What this container may use, and does (cgroup v2, else v1)."""

ROOT = "/sys/fs/cgroup/"
NO_LIMIT = 1 << 63


def memory() -> "tuple[int, int] | None":
    """Limit and use in bytes, without the file cache, which gives way; None when nobody knows."""
    try:
        limit, use = _pair("memory.max", "memory.current")
        stat, prefix = _read("memory.stat"), b""
    except (OSError, ValueError):
        try:
            limit, use = _pair("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")
            stat, prefix = _read("memory/memory.stat"), b"total_"
        except (OSError, ValueError):
            return None
    counts = dict(line.split() for line in stat.splitlines())
    cache = sum(int(counts.get(prefix + kind, 0)) for kind in (b"active_file", b"inactive_file"))
    return limit, max(0, use - cache)


def pids() -> "tuple[int, int] | None":
    for folder in ("", "pids/"):
        try:
            return _pair(folder + "pids.max", folder + "pids.current")
        except (OSError, ValueError):
            pass
    return None


def _pair(limit_file: str, use_file: str) -> "tuple[int, int]":
    limit = _read(limit_file).strip()
    return NO_LIMIT if limit == b"max" else int(limit), int(_read(use_file))


def _read(path: str) -> bytes:
    with open(ROOT + path, "rb") as file:
        return file.read()
