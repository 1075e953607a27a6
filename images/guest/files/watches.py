"""Changes below a folder as JSON lines: inotify where the kernel lets us, otherwise a look every second."""

import ctypes
import errno
import os
import select
import stat
import struct

from guest.files import paths
from guest.files.transfers import Dialer
from guest.io.call_error import CallError
from guest.io.wire_json import dumps, encode

FOLDERS = 2000
POLLED_ENTRIES = 20_000
POLL_S = 1.0

IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE, IN_MOVED_FROM, IN_MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
IN_CREATE, IN_DELETE, IN_DELETE_SELF, IN_MOVE_SELF = 0x100, 0x200, 0x400, 0x800
IN_Q_OVERFLOW, IN_IGNORED, IN_ISDIR = 0x4000, 0x8000, 0x40000000
IN_ONLYDIR, IN_DONT_FOLLOW = 0x1000000, 0x2000000
MASK = IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF

CHANGES = (
    (IN_CREATE | IN_MOVED_TO, "created"),
    (IN_DELETE | IN_MOVED_FROM, "deleted"),
    (IN_MODIFY | IN_CLOSE_WRITE, "modified"),
)

OVERFLOW = {"type": "overflow", "path": "", "directory": True}


def watch(dialer: Dialer, params: dict, answer) -> dict:
    root = paths.resolve(params)
    if not os.path.isdir(root):
        raise CallError("NOT_A_FOLDER" if os.path.lexists(root) else "NOT_FOUND", "only folders can be watched")
    recursive = params.get("recursive") is not False
    inotify = None if os.environ.get("SANDBAR_POLL_WATCHES") else Inotify.open()
    try:
        source = inotify if inotify is not None else Poll()
        source.start(root, recursive)
        with dialer.dial(str(params["transfer"])) as sock:
            answer({"method": source.name})
            if source.missed:
                sock.sendall(encode(dumps(OVERFLOW)) + b"\n")
            while source.wait(sock):
                lines = b"".join(encode(dumps(change)) + b"\n" for change in source.changes())
                if lines:
                    sock.sendall(lines)
                if source.over:
                    break
        return {}
    finally:
        if inotify is not None:
            inotify.close()


def change(kind: str, path: bytes, directory: bool) -> dict:
    return {"type": kind, **paths.named(path), "directory": directory}


class Inotify:
    name = "inotify"

    @staticmethod
    def open() -> "Inotify | None":
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        # The kernel counts instances per user over all sandboxes of a host, so none may be left.
        return Inotify(libc, fd) if fd >= 0 else None

    def __init__(self, libc, fd: int) -> None:
        self._libc = libc
        self._fd = fd
        self._folders = {}
        self._root = b""
        self._recursive = True
        self.over = False
        self.missed = False

    def start(self, root: bytes, recursive: bool) -> None:
        self._root, self._recursive = root, recursive
        for told in self._add(b""):
            self.missed = self.missed or told is OVERFLOW

    def close(self) -> None:
        os.close(self._fd)

    def wait(self, sock) -> bool:
        ready, _, _ = select.select([self._fd, sock], [], [])
        return sock not in ready

    def _add(self, below: bytes):
        """Watches a folder and those below; what is in them by now may have come before the watch, so it is told."""
        waiting = [below]
        while waiting and len(self._folders) < FOLDERS:
            shown = waiting.pop()
            path = os.path.join(self._root, shown) if shown else self._root
            flags = MASK | IN_ONLYDIR | (IN_DONT_FOLLOW if shown else 0)
            number = self._libc.inotify_add_watch(self._fd, path, flags)
            if number < 0:
                if ctypes.get_errno() == errno.ENOSPC:
                    yield OVERFLOW
                continue
            self._folders[number] = shown
            try:
                with os.scandir(path) as found:
                    for entry in found:
                        if paths.is_part(entry.name):
                            continue
                        inner = shown + b"/" + entry.name if shown else entry.name
                        folder = entry.is_dir(follow_symlinks=False)
                        yield change("created", inner, folder)
                        if folder and self._recursive:
                            waiting.append(inner)
            except OSError:
                continue
        if waiting:
            yield OVERFLOW

    def _leave(self, path: bytes) -> None:
        """A folder that was moved away is watched no more; where it went, it may be found again."""
        for number, shown in list(self._folders.items()):
            if shown == path or shown.startswith(path + b"/"):
                self._libc.inotify_rm_watch(self._fd, number)
                del self._folders[number]

    def changes(self):
        last = None
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            number, mask, _cookie, length = struct.unpack_from("iIII", data, at)
            name = data[at + 16 : at + 16 + length].rstrip(b"\0")
            at += 16 + length
            for told in self._read(number, mask, name):
                # One write is many inotify events; a run of equal ones says no more than one.
                if told != last:
                    yield told
                last = told

    def _read(self, number: int, mask: int, name: bytes):
        if mask & IN_Q_OVERFLOW:
            yield OVERFLOW
            return
        below = self._folders.get(number)
        if mask & IN_IGNORED:
            self._folders.pop(number, None)
        if below is None:
            return
        if not name:
            if below == b"" and mask & (IN_DELETE_SELF | IN_MOVE_SELF):
                self.over = True
                yield change("deleted", b"", True)
            return
        if paths.is_part(name):
            return
        path = below + b"/" + name if below else name
        folder = bool(mask & IN_ISDIR)
        for bits, kind in CHANGES:
            if mask & bits:
                yield change(kind, path, folder)
        if folder and mask & IN_MOVED_FROM:
            self._leave(path)
        if folder and self._recursive and mask & (IN_CREATE | IN_MOVED_TO):
            yield from self._add(path)


class Poll:
    name = "polling"

    def __init__(self) -> None:
        self._seen = {}
        self.over = False
        self.missed = False

    def start(self, root: bytes, recursive: bool) -> None:
        self._root, self._recursive = root, recursive
        self._seen = self._look()
        self.missed = len(self._seen) >= POLLED_ENTRIES

    def wait(self, sock) -> bool:
        return not select.select([sock], [], [], POLL_S)[0]

    def changes(self):
        now = self._look()
        before, self._seen = self._seen, now
        for path in sorted(before.keys() - now.keys(), reverse=True):
            yield change("deleted", path, before[path][0])
        for path, facts in sorted(now.items()):
            if path not in before:
                yield change("created", path, facts[0])
            elif before[path] != facts and not facts[0]:
                yield change("modified", path, False)
        if not os.path.isdir(self._root):
            self.over = True
            yield change("deleted", b"", True)

    def _look(self) -> dict:
        found = {}
        waiting = [b""]
        while waiting and len(found) < POLLED_ENTRIES:
            below = waiting.pop()
            try:
                names = os.listdir(os.path.join(self._root, below) if below else self._root)
            except OSError:
                continue
            for name in names:
                if paths.is_part(name):
                    continue
                path = below + b"/" + name if below else name
                try:
                    status = os.lstat(os.path.join(self._root, path))
                except OSError:
                    continue
                folder = stat.S_ISDIR(status.st_mode)
                found[path] = (folder, status.st_size, status.st_mtime_ns, status.st_ino)
                if folder and self._recursive:
                    waiting.append(path)
        return found
