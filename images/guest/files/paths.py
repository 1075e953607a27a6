"""Paths as callers give them, and what the file system says about them in the words of the error table."""

import base64
import binascii
import errno
import os
import stat

from guest.io.call_error import CallError

SESSION = os.fsencode(os.environ.get("SANDBAR_SESSION", "/session"))
PATH_BYTES = 4095
SIZE_LIMIT = 2**53 - 1
PART_PREFIX = b".sandbar-"
PART_SUFFIX = b".part"
"""Files and folders on their way in: `.sandbar-<random>.part`, renamed when complete."""

CODES = {
    errno.ENOENT: "NOT_FOUND",
    errno.ENOTDIR: "PATH_INVALID",
    errno.EISDIR: "NOT_A_FILE",
    errno.ENXIO: "NOT_A_FILE",
    errno.ELOOP: "PATH_INVALID",
    errno.ENAMETOOLONG: "PATH_INVALID",
    errno.EINVAL: "PATH_INVALID",
    errno.EXDEV: "PATH_INVALID",
    errno.EACCES: "PATH_NOT_PERMITTED",
    errno.EPERM: "PATH_NOT_PERMITTED",
    errno.EROFS: "PATH_NOT_PERMITTED",
    errno.EBUSY: "PATH_NOT_PERMITTED",
    errno.EEXIST: "PATH_EXISTS",
    errno.ENOTEMPTY: "FOLDER_NOT_EMPTY",
    errno.ENOSPC: "STORAGE_FULL",
    errno.EDQUOT: "STORAGE_FULL",
    errno.EFBIG: "STORAGE_FULL",
}


def resolve(params: dict, key: str = "path") -> bytes:
    """The absolute path that `path` or `path_b64` names; relative ones start at the session's folder."""
    raw = _bytes_of(params, key)
    if not raw or b"\0" in raw:
        raise CallError("PATH_INVALID", "the path is empty or contains NUL")
    if len(raw) > PATH_BYTES:
        raise CallError("PATH_INVALID", "the path is longer than %d bytes" % PATH_BYTES)
    if _climbs_out(raw):
        raise CallError("PATH_INVALID", "'..' leads out of the session's folder; give an absolute path")
    return os.path.join(SESSION, raw)


def _climbs_out(raw: bytes) -> bool:
    """As it is written: where links lead is for the kernel to say, and stays in the sandbox too."""
    if raw.startswith(b"/") or b".." not in raw:
        return False
    depth = 0
    for part in raw.split(b"/"):
        depth += -1 if part == b".." else part not in (b"", b".")
        if depth < 0:
            return True
    return False


def resolve_new(params: dict, key: str = "path") -> "tuple[bytes, bytes]":
    """Folder and name of something that is to be made or taken away."""
    path = resolve(params, key)
    folder, name = os.path.split(path)
    if name in (b"", b".", b".."):
        raise CallError("PATH_INVALID", "the path must end with a name")
    if len(name) > 255:
        raise CallError("PATH_INVALID", "the name is longer than 255 bytes")
    return folder, name


def tidy(path: bytes) -> bytes:
    """Without empty and `.` components; `..` stays, since what it means depends on links."""
    return b"/" + b"/".join(part for part in path.split(b"/") if part not in (b"", b"."))


def part_name() -> bytes:
    return PART_PREFIX + os.urandom(8).hex().encode() + PART_SUFFIX


def is_part(name: bytes) -> bool:
    return name.startswith(PART_PREFIX) and name.endswith(PART_SUFFIX)


def kind_of(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "symlink"
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def size_of(status: os.stat_result) -> int:
    """As the daemon can count: a sparse file may say more, and no more can ever be read of it."""
    return min(status.st_size, SIZE_LIMIT)


def must_be_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise CallError("NOT_A_FILE", "the path is a %s" % kind_of(status.st_mode))
    if status.st_dev in kernel_devices():
        raise CallError("NOT_A_FILE", "files of /proc and /sys are read by code, not as files")


_KERNEL_FILESYSTEMS = ("proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "bpf")
_kernel_devices = None


def kernel_devices() -> "set[int]":
    """Opened by process 1, /proc/self would be process 1's own memory."""
    global _kernel_devices
    if _kernel_devices is None:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            _kernel_devices = {_device(line) for line in mounts if line.partition(" - ")[2].split(" ")[0] in _KERNEL_FILESYSTEMS}
    return _kernel_devices


def _device(mount: str) -> int:
    major, minor = mount.split(" ")[2].split(":")
    return os.makedev(int(major), int(minor))


def named(path: bytes, key: str = "path") -> dict:
    """A path for an answer: text when it is UTF-8, and always something that can be sent back."""
    try:
        return {key: path.decode("utf-8")}
    except UnicodeDecodeError:
        return {key: path.decode("utf-8", "replace"), key + "_b64": base64.b64encode(path).decode()}


def refusal(error: OSError) -> CallError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    code = CODES.get(error.errno, "HOST_ERROR")
    if error.errno == errno.EXDEV:
        reason = "the two paths are on different file systems; copy instead"
    return CallError(code, reason)


def _bytes_of(params: dict, key: str) -> bytes:
    encoded = params.get(key + "_b64")
    if isinstance(encoded, str):
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise CallError("PATH_INVALID", "%s_b64 is not base64" % key) from None
    path = params.get(key)
    if not isinstance(path, str):
        raise CallError("PATH_INVALID", "%s is missing" % key)
    try:
        return path.encode("utf-8")
    except UnicodeEncodeError:
        raise CallError("PATH_INVALID", "the path is not Unicode text; use %s_b64" % key) from None
