"""The folder /session/artifacts and the files in it. Whoever runs in the sandbox may swap any folder for a link at any moment, so
files are opened component by component without following links, and a file counts as the same only while its size and its times are.
"""

import base64
import itertools
import os
import stat

from guest.files import paths

ROOT = os.path.join(paths.SESSION, b"artifacts")
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def restore() -> "str | None":
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


def look() -> "tuple[int, int, int, int] | None":
    """Changes with every entry that comes or goes in the folder itself, and with its mode."""
    try:
        status = os.lstat(ROOT)
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_mode)


def listing(folder: bytes):
    try:
        # Only the root can be swapped for a link with effect: what a link below it shows cannot be opened.
        fd = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC) if not folder else None
        try:
            with os.scandir(ROOT + b"/" + folder if fd is None else fd) as items:
                for item in items:
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


def mark_of(status: os.stat_result) -> "tuple[int, int, int]":
    return (paths.size_of(status), status.st_mtime_ns, status.st_ctime_ns)


def named(entries) -> "list[tuple[bytes, tuple[int, int, int]]]":
    return [
        (base64.b64decode(entry["path_b64"]), (int(entry["size"]), int(entry["mtime_ns"]), int(entry["ctime_ns"])))
        for entry in entries or ()
    ]


def open_folder(parts: "list[bytes]") -> int:
    fd = os.open(ROOT, _FOLDER)
    for part in parts:
        try:
            inner = os.open(part, _FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def parts(path: bytes) -> "list[bytes]":
    parts = path.split(b"/")
    if any(part in (b"", b".", b"..") for part in parts):
        raise ValueError("not a path below the folder")
    return parts


def open_file(path: bytes) -> int:
    *folders, name = parts(path)
    folder = open_folder(folders)
    try:
        # Looked at first: opening a FIFO would already wake its writers.
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(0, "not a file any more")
        return os.open(name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def prune(folders: "list[bytes]") -> None:
    while folders:
        try:
            parent = open_folder(folders[:-1])
            try:
                os.rmdir(folders[-1], dir_fd=parent)
            finally:
                os.close(parent)
        except OSError:
            return
        folders = folders[:-1]
