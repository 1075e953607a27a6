"""Looking at files and moving them about. Everything here may block, so it runs in a worker's thread."""

import base64
import heapq
import os
import stat

from guest.files import paths
from guest.io.call_error import CallError

PAGE = 1000
PAGE_BYTES = 600_000
DEPTH = 64


def describe(path: bytes, follow: bool = False) -> dict:
    status = os.stat(path, follow_symlinks=follow)
    entry = {
        **paths.named(path),
        "name": os.path.basename(path).decode("utf-8", "replace"),
        "type": paths.kind_of(status.st_mode),
        "size": paths.size_of(status),
        "mode": stat.S_IMODE(status.st_mode),
        "mtime_ns": str(status.st_mtime_ns),
    }
    if stat.S_ISLNK(status.st_mode):
        entry.update(paths.named(os.readlink(path), "target"))
    return entry


def status(params: dict, _answer) -> dict:
    """`readable`: for somebody who would read it, so what cannot be read is refused in the same words."""
    path, follow = paths.tidy(paths.resolve(params)), params.get("follow") is True
    if params.get("readable") is True:
        found = os.stat(path, follow_symlinks=follow)
        if not stat.S_ISDIR(found.st_mode):
            paths.must_be_file(found)
    return describe(path, follow)


def listing(params: dict, _answer) -> dict:
    """Entries below a folder in the order of their names' bytes, a page at a time, in memory for one page."""
    root = paths.tidy(paths.resolve(params))
    depth = min(max(int(params.get("depth") or 1), 1), DEPTH)
    limit = min(max(int(params.get("limit") or PAGE), 1), PAGE)
    after = _cursor(params.get("cursor"))
    if not os.path.isdir(root):
        raise CallError("NOT_A_FOLDER" if os.path.lexists(root) else "NOT_FOUND", "the path is not a folder")
    entries, size, last = [], 0, None
    try:
        for name in _walk(root, b"", depth, after, limit + 2):
            if len(entries) >= limit or size > PAGE_BYTES:
                return {"entries": entries, "next_cursor": _cursor_after(last)}
            last = name
            try:
                entry = describe(os.path.join(root, name))
            except FileNotFoundError:
                continue
            except PermissionError:
                # Of a folder that can be read, but not entered.
                if b"/" in name:
                    continue
                raise
            entries.append(entry)
            size += 3 * len(entry["path"]) + 200
    except _MoreToLookAt:
        return {"entries": entries, "next_cursor": _cursor_after(last)}
    return {"entries": entries, "next_cursor": None}


class _MoreToLookAt(Exception):
    """A folder has more names than were looked at, and some of those have gone meanwhile."""


def _cursor_after(last: bytes) -> str:
    return base64.urlsafe_b64encode(last).decode().rstrip("=")


def _cursor(text) -> "list[bytes]":
    if not isinstance(text, str) or not text:
        return []
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).split(b"/")
    except ValueError:
        raise CallError("VALIDATION_FAILED", "the cursor is not one of ours") from None


def _walk(root: bytes, below: bytes, depth: int, after: "list[bytes]", limit: int):
    """Parents before children. `after`: the components below here of the last entry that was seen."""
    folder = os.path.join(root, below) if below else root
    first = after[0] if after else None
    try:
        with os.scandir(folder) as found:
            names = (entry.name for entry in found)
            page = heapq.nsmallest(limit, (name for name in names if first is None or name >= first))
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        if below:
            return
        raise
    for name in page:
        path = below + b"/" + name if below else name
        resumed = name == first
        if not resumed:
            yield path
        if depth > 1 and _is_folder(os.path.join(root, path)):
            yield from _walk(root, path, depth - 1, after[1:] if resumed else [], limit)
    if len(page) == limit:
        raise _MoreToLookAt


def _is_folder(path: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def mkdir(params: dict, _answer) -> dict:
    path = paths.tidy(paths.resolve(params))
    made = not os.path.isdir(path)
    if params.get("parents") is False:
        if made:
            os.mkdir(path)
    else:
        os.makedirs(path, exist_ok=True)
    return {**describe(path), "created": made}


def move(params: dict, _answer) -> dict:
    source = os.path.join(*paths.resolve_new(params, "from"))
    folder, name = paths.resolve_new(params, "to")
    target = os.path.join(folder, name)
    os.lstat(source)
    _must_not_be_root(source)
    if params.get("mkdirs") is True:
        os.makedirs(folder, exist_ok=True)
    if params.get("overwrite") is not True and os.path.lexists(target):
        raise CallError("PATH_EXISTS", "the destination exists; overwrite: true replaces it")
    os.rename(source, target)
    return describe(paths.tidy(target))


def remove(params: dict, _answer) -> dict:
    path = os.path.join(*paths.resolve_new(params))
    status = os.lstat(path)
    _must_not_be_root(path)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(path)
    elif params.get("recursive") is True:
        import shutil

        shutil.rmtree(path)
    else:
        os.rmdir(path)
    return {}


def _must_not_be_root(path: bytes) -> None:
    if os.path.realpath(path) in (b"/", os.path.realpath(paths.SESSION)):
        raise CallError("PATH_INVALID", "this is the session itself")
