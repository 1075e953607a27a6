"""What has run out, looked up after something failed that needed it: a code of the error table, and a sentence with a way out."""

import errno
import os

from guest.system import cgroup

FEW_PROCESSES = 16
"""A runtime starts threads too, Node a dozen; those of one that failed are gone when we look."""
FULL = 0.97


def shortage(error: "OSError | None" = None) -> "dict | None":
    number = error.errno if error is not None else None
    pids = cgroup.pids()
    if pids is not None and (number == errno.EAGAIN or pids[0] - pids[1] < min(FEW_PROCESSES, pids[0] // 4)):
        return _said("PROCESS_LIMIT", "%d of %d processes and threads are in use: end some, or create the session with larger limits.pids"
                     % (min(pids[1], pids[0]), pids[0]))
    for folder in ("/tmp", "/session"):
        what = _full(folder)
        if what:
            return _said("STORAGE_FULL", "%s has no %s left: remove files, or create the session with a larger limits.tmpfs_mb" % (folder, what))
    memory = cgroup.memory()
    if memory is not None and (number == errno.ENOMEM or memory[1] > FULL * memory[0]):
        return _said("OOM_KILLED", "%d of %d MB of memory are in use: end what uses it, or create the session with larger limits.memory_mb"
                     % (memory[1] >> 20, memory[0] >> 20))
    return None


def _full(folder: str) -> "str | None":
    try:
        stat = os.statvfs(folder)
    except OSError:
        return None
    if stat.f_blocks and not stat.f_bavail:
        return "space"
    return "inodes" if stat.f_files and not stat.f_favail else None


def _said(code: str, detail: str) -> dict:
    return {"code": code, "detail": detail}
