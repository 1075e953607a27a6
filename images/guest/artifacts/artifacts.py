"""What code leaves in /session/artifacts: found when an execution ends, removed when it is safe elsewhere."""

import base64
import os
import stat
import time

from guest.artifacts import tree
from guest.files import paths

ENTRIES = 2000
"""What one scan reports; the rest is found by the next."""
NAMES_BYTES = 1_000_000
LOOKS = 20_000
"""A tree of a million folders must not keep the loop."""
HASHED_FILES = 16
HASHED_BYTES = 2 * 1024 * 1024
"""More would keep the loop for longer than the hashes save."""
TICK_NS = 1_000_000_000


class Artifacts:
    def __init__(self) -> None:
        self._settled = {}
        """Entries that the daemon does not want to hear of again until they change."""
        self._empty = None
        """How the folder looked when nothing at all was in it."""
        self._relinked = {}
        """Files that lost one of their names here: how they were found, and how they look since. It changes the others' time."""
        self._beyond_repair = ()
        """How the folder looked when nothing could be done about it: said once."""

    def found(self) -> dict:
        """For a `done`: nothing when there is nothing, which must cost nearly nothing."""
        look = tree.look()
        if look is not None and look == self._empty:
            return {}
        said = self._put_right(look)
        entries, more = self.scan()
        if entries:
            _add_hashes(entries)
            return {"artifacts": entries, "artifacts_more": more, **said}
        # A change in the same tick of the clock as the one before it would not show.
        long_ago = look is not None and abs(time.time_ns() - look[2]) > TICK_NS
        self._empty = look if long_ago and look == tree.look() and next(tree.listing(b""), None) is None else None
        return said

    def scan(self) -> "tuple[list[dict], bool]":
        entries = []
        settled = {}
        room = NAMES_BYTES
        looks = LOOKS
        folders = [b""]
        while folders:
            folder = folders.pop()
            for name, status in tree.listing(folder):
                path = folder + name
                looks -= 1
                if stat.S_ISDIR(status.st_mode) and os.access(os.path.join(tree.ROOT, path), os.R_OK | os.X_OK):
                    folders.append(path + b"/")
                    continue
                mark = tree.mark_of(status)
                if self._settled.get(path) == mark:
                    settled[path] = mark
                    continue
                room -= len(path) * 2 + 120
                entries.append(_entry(path, status))
                if len(entries) >= ENTRIES or room < 0:
                    return entries, True
            if looks < 0:
                return entries, True
        self._settled = settled
        entries.sort(key=lambda entry: entry["path_b64"])
        return entries, False

    def settle(self, params: dict) -> dict:
        """Removes what is safe elsewhere if it is unchanged, and remembers what was refused for good."""
        removed = 0
        for path, mark in tree.named(params.get("remove")):
            removed += self._remove(path, mark)
        for path, mark in tree.named(params.get("refused")):
            if len(self._settled) < 10 * ENTRIES:
                self._settled[path] = mark
        return {"removed": removed}

    def _put_right(self, look) -> dict:
        """A folder of ours is there again, whatever code has put in its place: only a link is removed, all else moved aside."""
        try:
            reason = tree.restore()
        except OSError as error:
            reason = None if look == self._beyond_repair else "nothing can be kept in it: %s" % error.strerror
            self._beyond_repair = look
        return {"artifacts_skipped": [{"name": os.fsdecode(tree.ROOT), "reason": reason}]} if reason else {}

    def scan_call(self, _params: dict, _answer) -> dict:
        self._put_right(tree.look())
        entries, more = self.scan()
        return {"artifacts": entries, "artifacts_more": more}

    def is_same(self, status: os.stat_result, mark: "tuple[int, int, int]") -> bool:
        now = tree.mark_of(status)
        return now == mark or self._relinked.get((status.st_dev, status.st_ino)) == (mark, now)

    def _remove(self, path: bytes, mark: "tuple[int, int, int]") -> int:
        *folders, name = tree.parts(path)
        try:
            folder = tree.open_folder(folders)
        except OSError:
            return 0
        try:
            file = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                if not self.is_same(os.fstat(file), mark):
                    return 0
                os.unlink(name, dir_fd=folder)
                self._unlinked(os.fstat(file), mark)
            finally:
                os.close(file)
        except OSError:
            return 0
        finally:
            os.close(folder)
        tree.prune(folders)
        return 1

    def _unlinked(self, status: os.stat_result, mark: "tuple[int, int, int]") -> None:
        file = (status.st_dev, status.st_ino)
        if status.st_nlink == 0:
            self._relinked.pop(file, None)
        elif file in self._relinked or len(self._relinked) < 10 * ENTRIES:
            self._relinked[file] = (mark, tree.mark_of(status))


def _entry(path: bytes, status: os.stat_result) -> dict:
    return {
        "path_b64": base64.b64encode(path).decode(),
        "size": paths.size_of(status),
        "mtime_ns": str(status.st_mtime_ns),
        "ctime_ns": str(status.st_ctime_ns),
        "kind": paths.kind_of(status.st_mode),
    }


def _add_hashes(entries: "list[dict]") -> None:
    """The daemon asks about few and small files by these while it reads them, and hashes what it has read itself."""
    files = [entry for entry in entries if entry["kind"] == "file"]
    if len(files) > HASHED_FILES or sum(entry["size"] for entry in files) > HASHED_BYTES:
        return
    # Its library is large, and most sessions make no artifacts.
    from hashlib import sha256

    for entry, (path, mark) in zip(files, tree.named(files)):
        try:
            fd = tree.open_file(path)
        except OSError:
            continue
        try:
            if tree.mark_of(os.fstat(fd)) == mark:
                entry["sha256"] = sha256(os.read(fd, mark[0])).hexdigest()
        except OSError:
            continue
        finally:
            os.close(fd)


ARTIFACTS = Artifacts()
