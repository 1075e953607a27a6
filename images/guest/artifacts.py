"""What code leaves in /session/artifacts: found when an execution ends, read whole, removed when it is safe elsewhere.

Whoever runs in the sandbox may swap any folder for a link at any moment, so files are opened component by component
without following links, and a file counts as the same only while its size and its times are.
"""

import base64
import itertools
import os
import stat
import time
from json import dumps

import paths

ROOT = os.path.join(paths.SESSION, b"artifacts")
ENTRIES = 2000
"""What one scan reports; the rest is found by the next."""
NAMES_BYTES = 1_000_000
LOOKS = 20_000
"""A tree of a million folders must not keep the loop."""
CHUNK = 1024 * 1024
FLUSH_BYTES = 256 * 1024
HASHED_FILES = 16
HASHED_BYTES = 2 * 1024 * 1024
"""More would keep the loop for longer than the hashes save."""
TICK_NS = 1_000_000_000

_SESSION = os.fsdecode(paths.SESSION)
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


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
        look = _look()
        if look is not None and look == self._empty:
            return {}
        said = self._put_right(look)
        entries, more = self.scan()
        if entries:
            _add_hashes(entries)
            return {"artifacts": entries, "artifacts_more": more, **said}
        # A change in the same tick of the clock as the one before it would not show.
        long_ago = look is not None and abs(time.time_ns() - look[2]) > TICK_NS
        self._empty = look if long_ago and look == _look() and next(_listing(b""), None) is None else None
        return said

    def scan(self) -> "tuple[list[dict], bool]":
        entries = []
        settled = {}
        room = NAMES_BYTES
        looks = LOOKS
        folders = [b""]
        while folders:
            folder = folders.pop()
            for name, status in _listing(folder):
                path = folder + name
                looks -= 1
                if stat.S_ISDIR(status.st_mode) and os.access(os.path.join(ROOT, path), os.R_OK | os.X_OK):
                    folders.append(path + b"/")
                    continue
                mark = _mark(status)
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
        for path, mark in _named(params.get("remove")):
            removed += self._remove(path, mark)
        for path, mark in _named(params.get("refused")):
            if len(self._settled) < 10 * ENTRIES:
                self._settled[path] = mark
        return {"removed": removed}

    def _put_right(self, look) -> dict:
        """A folder of ours is there again, whatever code has put in its place: only a link is removed, all else moved aside."""
        try:
            reason = _restore()
        except OSError as error:
            reason = None if look == self._beyond_repair else "nothing can be kept in it: %s" % error.strerror
            self._beyond_repair = look
        return {"artifacts_skipped": [{"name": os.fsdecode(ROOT), "reason": reason}]} if reason else {}

    def scan_call(self, _params: dict, _answer) -> dict:
        self._put_right(_look())
        entries, more = self.scan()
        return {"artifacts": entries, "artifacts_more": more}

    def is_same(self, status: os.stat_result, mark: "tuple[int, int, int]") -> bool:
        now = _mark(status)
        return now == mark or self._relinked.get((status.st_dev, status.st_ino)) == (mark, now)

    def _remove(self, path: bytes, mark: "tuple[int, int, int]") -> int:
        *folders, name = _parts(path)
        try:
            folder = _open_folder(folders)
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
        _prune(folders)
        return 1

    def _unlinked(self, status: os.stat_result, mark: "tuple[int, int, int]") -> None:
        file = (status.st_dev, status.st_ino)
        if status.st_nlink == 0:
            self._relinked.pop(file, None)
        elif file in self._relinked or len(self._relinked) < 10 * ENTRIES:
            self._relinked[file] = (mark, _mark(status))


ARTIFACTS = Artifacts()


def read(dialer, params: dict, answer) -> dict:
    """For each entry a line, `{"size"}` or `{"skip"}`; then that many bytes; then `+`, or `-` when it changed meanwhile."""
    entries = _named(params["entries"])
    buffer = bytearray()
    with dialer.dial(str(params["transfer"])) as sock:
        answer({})
        busy = _open_for_writing()
        for path, mark in entries:
            try:
                fd = _open(path)
            except OSError as error:
                buffer += _line({"skip": _reason(error)})
                continue
            try:
                status = os.fstat(fd)
                if not ARTIFACTS.is_same(status, mark):
                    buffer += _line({"skip": "changed since the execution ended"})
                elif (status.st_dev, status.st_ino) in busy:
                    buffer += _line({"skip": "still being written"})
                else:
                    buffer += _line({"size": status.st_size})
                    if status.st_size > FLUSH_BYTES:
                        sock.sendall(buffer)
                        buffer.clear()
                        whole = _send_file(sock, fd, status.st_size)
                    else:
                        data = os.read(fd, status.st_size) if status.st_size else b""
                        whole = len(data) == status.st_size
                        buffer += data.ljust(status.st_size, b"\0")
                    buffer += b"+" if whole and ARTIFACTS.is_same(os.fstat(fd), mark) else b"-"
            finally:
                os.close(fd)
            if len(buffer) > FLUSH_BYTES:
                sock.sendall(buffer)
                buffer.clear()
        sock.sendall(buffer)
    return {}


def _send_file(sock, fd: int, size: int) -> bool:
    offset = 0
    while offset < size:
        sent = os.sendfile(sock.fileno(), fd, offset, min(size - offset, CHUNK))
        if sent == 0:
            break
        offset += sent
    whole = offset == size
    # The daemon counts on the length that it was told.
    while offset < size:
        offset += sock.send(bytes(min(size - offset, CHUNK)))
    return whole


def _restore() -> "str | None":
    """What was wrong with the folder and is right now."""
    try:
        mode = os.lstat(ROOT).st_mode
    except FileNotFoundError:
        os.mkdir(ROOT)
        return "it was removed; a new folder is there now"
    if stat.S_ISDIR(mode):
        if os.access(ROOT, os.R_OK | os.W_OK | os.X_OK):
            return None
        os.chmod(ROOT, stat.S_IMODE(mode) | 0o700)
        return "its mode shut us out and was changed"
    if stat.S_ISLNK(mode):
        os.unlink(ROOT)
        was = "a symbolic link stood there and was removed"
    else:
        aside = next(name for name in (b"%s.%d" % (ROOT, n) for n in itertools.count(1)) if not os.path.lexists(name))
        os.rename(ROOT, aside)
        was = "a %s stood there, now %s" % (paths.kind_of(mode), os.fsdecode(aside))
    os.mkdir(ROOT)
    return "%s; a new folder is there now" % was


def _look() -> "tuple[int, int, int, int] | None":
    """Changes with every entry that comes or goes in the folder itself, and with its mode."""
    try:
        status = os.lstat(ROOT)
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_mode)


def _listing(folder: bytes):
    try:
        # Only the root can be swapped for a link with effect: what a link below it shows cannot be opened.
        fd = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC) if not folder else None
        try:
            with os.scandir(ROOT + b"/" + folder if fd is None else fd) as listing:
                for item in listing:
                    name = os.fsencode(item.name)
                    if paths.is_part(name):
                        continue
                    try:
                        yield name, item.stat(follow_symlinks=False)
                    except OSError:
                        continue
        finally:
            if fd is not None:
                os.close(fd)
    except OSError:
        return


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

    for entry, (path, mark) in zip(files, _named(files)):
        try:
            fd = _open(path)
        except OSError:
            continue
        try:
            if _mark(os.fstat(fd)) == mark:
                entry["sha256"] = sha256(os.read(fd, mark[0])).hexdigest()
        except OSError:
            continue
        finally:
            os.close(fd)


def _mark(status: os.stat_result) -> "tuple[int, int, int]":
    return (paths.size_of(status), status.st_mtime_ns, status.st_ctime_ns)


def _named(entries) -> "list[tuple[bytes, tuple[int, int, int]]]":
    return [
        (base64.b64decode(entry["path_b64"]), (int(entry["size"]), int(entry["mtime_ns"]), int(entry["ctime_ns"])))
        for entry in entries or ()
    ]


def _open_folder(parts: "list[bytes]") -> int:
    fd = os.open(ROOT, _FOLDER)
    for part in parts:
        try:
            inner = os.open(part, _FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def _parts(path: bytes) -> "list[bytes]":
    parts = path.split(b"/")
    if any(part in (b"", b".", b"..") for part in parts):
        raise ValueError("not a path below the folder")
    return parts


def _open(path: bytes) -> int:
    *folders, name = _parts(path)
    folder = _open_folder(folders)
    try:
        # Looked at first: opening a FIFO would already wake its writers.
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(0, "not a file any more")
        return os.open(name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _prune(folders: "list[bytes]") -> None:
    while folders:
        try:
            parent = _open_folder(folders[:-1])
            try:
                os.rmdir(folders[-1], dir_fd=parent)
            finally:
                os.close(parent)
        except OSError:
            return
        folders = folders[:-1]


def _open_for_writing() -> "set[tuple[int, int]]":
    """Files that some process holds open to write. Only processes of our own user can be looked at, and no others can write here."""
    busy = set()
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            numbers = os.listdir("/proc/%s/fd" % pid)
        except OSError:
            continue
        for number in numbers:
            try:
                # The link's own mode says how the file was opened, without opening anything.
                if not os.lstat("/proc/%s/fd/%s" % (pid, number)).st_mode & stat.S_IWUSR:
                    continue
                if not os.readlink("/proc/%s/fd/%s" % (pid, number)).startswith(_SESSION):
                    continue
                status = os.stat("/proc/%s/fd/%s" % (pid, number))
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                busy.add((status.st_dev, status.st_ino))
    return busy


def _reason(error: OSError) -> str:
    return "cannot be read: %s" % (error.strerror or "it is gone")


def _line(value: dict) -> bytes:
    return dumps(value).encode() + b"\n"
