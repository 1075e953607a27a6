"""Folders as tar, both ways. What comes in is untrusted: it is unpacked beside its destination, entry by entry, and
moved into place only when all of it was good."""

import os
import stat

from guest.files import paths
from guest.files.transfers import Dialer, Incoming, open_file, write_all
from guest.io.call_error import CallError

ENTRIES = 100_000
NAME_BYTES = 3000
NAME_PARTS = 200
HEADER_BYTES = 1024 * 1024
"""A long name, or extended headers; tarfile reads them whole."""
COPY_BYTES = 256 * 1024


def tar(dialer: Dialer, params: dict, _answer) -> dict:
    """Files, folders and links below a folder; FIFOs, sockets and devices have nothing that could be kept.

    `own`: all of it, or nothing that could not be unpacked again where it was.
    """
    import tarfile

    root = paths.resolve(params)
    if not stat.S_ISDIR(os.stat(root, follow_symlinks=params.get("follow") is True).st_mode):
        raise CallError("NOT_A_FOLDER", "the path is not a folder")
    os.listdir(root)
    bounds = _Bounds(root) if params.get("own") is True else None
    entries = 0
    with dialer.dial(str(params["transfer"])) as sock:
        archive = tarfile.open(
            fileobj=_Counted(sock), mode="w|", bufsize=COPY_BYTES, format=tarfile.PAX_FORMAT, copybufsize=COPY_BYTES
        )
        try:
            for path, name in _below(root):
                entries += 1
                if entries > ENTRIES:
                    raise CallError("LIMIT_EXCEEDED", "the folder has more than %d entries" % ENTRIES)
                _add(tarfile, archive, path, name, bounds)
                archive.members.clear()
        except PermissionError as error:
            raise CallError("PATH_NOT_PERMITTED", ("cannot be read: %s" % os.fsdecode(error.filename or root))[:1000]) from None
        archive.close()
        return {"size": archive.fileobj.fileobj.written, "entries": entries}


class _Bounds:
    """What `untar` would refuse, and more bytes than there is room for: holes and second names of a file become bytes."""

    def __init__(self, root: bytes) -> None:
        room = os.statvfs(root)
        self._device = os.stat(root).st_dev
        self._room = room.f_blocks * room.f_frsize
        self._left = self._room

    def name(self, name: bytes) -> None:
        if len(name) > NAME_BYTES or name.count(b"/") >= NAME_PARTS:
            reason = "a name has more than %d bytes or %d parts: %s" % (NAME_BYTES, NAME_PARTS, _shown(name))
            raise CallError("LIMIT_EXCEEDED", reason)

    def file(self, name: bytes, status: os.stat_result) -> None:
        # Without a limit of its own it says 0; what is mounted below has its own.
        if self._room == 0 or status.st_dev != self._device:
            return
        self._left -= status.st_size
        if self._left < 0:
            reason = "with its holes and links filled the folder is larger than its storage of %d bytes: %s"
            raise CallError("LIMIT_EXCEEDED", reason % (self._room, _shown(name)))


class _Counted:
    def __init__(self, sock) -> None:
        self._sock = sock
        self.written = 0

    def write(self, data: bytes) -> None:
        self._sock.sendall(data)
        self.written += len(data)


def _below(root: bytes):
    waiting = [b""]
    while waiting:
        below = waiting.pop()
        folders = []
        for name in sorted(os.listdir(os.path.join(root, below) if below else root)):
            shown = below + b"/" + name if below else name
            path = os.path.join(root, shown)
            yield path, shown
            if _is_real_folder(path):
                folders.append(shown)
        waiting.extend(reversed(folders))


def _add(tarfile, archive, path: bytes, name: bytes, bounds: "_Bounds | None") -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if bounds is not None:
        bounds.name(name)
    info = tarfile.TarInfo(os.fsdecode(name))
    info.mode = stat.S_IMODE(status.st_mode)
    info.mtime = max(0, int(status.st_mtime))
    if stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
    elif stat.S_ISLNK(status.st_mode):
        info.type = tarfile.SYMTYPE
        info.linkname = os.fsdecode(os.readlink(path))
        archive.addfile(info)
    elif stat.S_ISREG(status.st_mode):
        try:
            fd = open_file(path, False)
        except FileNotFoundError:
            return
        with os.fdopen(fd, "rb", buffering=0) as file:
            opened = os.fstat(fd)
            info.size = opened.st_size
            if bounds is not None:
                bounds.file(name, opened)
            try:
                archive.addfile(info, file)
            except OSError as error:
                if error.errno is None:
                    reason = "a file became shorter while it was read: %s" % os.fsdecode(name)
                    raise CallError("TRANSFER_FAILED", reason[:1000]) from None
                raise


def untar(dialer: Dialer, params: dict, _answer) -> dict:
    """`own`: what comes in is what a session was, so links and modes may be whatever its code could have made of them."""
    target = paths.resolve(params)
    os.makedirs(target, exist_ok=True)
    staging = os.path.join(target, paths.part_name())
    os.mkdir(staging, 0o700)
    try:
        with dialer.dial(str(params["transfer"])) as sock:
            incoming = Incoming(sock, params.get("size"))
            entries = _unpack(incoming, staging, "r|gz" if params.get("gzip") is True else "r|", params.get("own") is True)
            incoming.drain()
            result = incoming.confirm()
        _merge(staging, target)
        return {**result, "entries": entries}
    finally:
        import shutil

        shutil.rmtree(staging, ignore_errors=True)


def _unpack(incoming: Incoming, staging: bytes, mode: str, own: bool = False) -> int:
    import tarfile
    import zlib

    try:
        with tarfile.open(fileobj=incoming, mode=mode, bufsize=COPY_BYTES, tarinfo=bounded(tarfile)) as archive:
            return _extract(tarfile, archive, staging, own)
    except (tarfile.TarError, zlib.error, EOFError, UnicodeError, ValueError, OverflowError, RecursionError) as error:
        raise CallError("ARCHIVE_INVALID", ("not a tar archive: %s" % error)[:1000]) from None


def bounded(tarfile):
    """tarfile's entry, with bounds on what it would read into memory."""

    headers = (
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    )

    class BoundedTarInfo(tarfile.TarInfo):
        global_bytes = 0

        @classmethod
        def fromtarfile(cls, archive):
            try:
                return super().fromtarfile(archive)
            except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError) as error:
                # After the first entry tarfile would take it for the end, and what follows would be missing.
                raise CallError("ARCHIVE_INVALID", "not a tar archive: %s" % error) from None

        def _proc_member(self, archive):
            if self.type in headers and not 0 <= self.size <= HEADER_BYTES:
                raise CallError("ARCHIVE_INVALID", "an extended header is larger than %d bytes" % HEADER_BYTES)
            if self.type == tarfile.XGLTYPE:
                # These add up for as long as the archive lasts.
                BoundedTarInfo.global_bytes += self.size
                if BoundedTarInfo.global_bytes > HEADER_BYTES:
                    raise CallError("ARCHIVE_INVALID", "the global headers are larger than %d bytes" % HEADER_BYTES)
            if self.type == tarfile.GNUTYPE_SPARSE:
                raise _sparse()
            if self.size < 0:
                raise CallError("ARCHIVE_INVALID", "an entry has a negative size")
            return super()._proc_member(archive)

        def _refuse_sparse(self, *_args):
            raise _sparse()

        _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse

    return BoundedTarInfo


def _sparse() -> CallError:
    return CallError("ARCHIVE_INVALID", "sparse entries are not supported")


def _extract(tarfile, archive, staging: bytes, own: bool) -> int:
    entries = 0
    folders = []
    while True:
        member = archive.next()
        if member is None:
            break
        archive.members.clear()
        entries += 1
        if entries > ENTRIES:
            raise CallError("ARCHIVE_INVALID", "the archive has more than %d entries" % ENTRIES)
        parts = safe_parts(member.name)
        if not parts:
            continue
        path = _parent(staging, parts)
        if member.isdir():
            _make_folder(path, member.name)
            folders.append((path, member.mode))
            continue
        if os.path.lexists(path):
            if _is_real_folder(path):
                raise _bad(member.name, "is a folder and a file")
            os.unlink(path)
        if member.issym():
            target = os.fsencode(member.linkname) if own else safe_target(member.name, member.linkname, len(parts) - 1)
            os.symlink(target, path)
        elif member.islnk():
            _hard_link(staging, member, path)
        elif member.isreg() and not member.issparse():
            _write_file(archive.extractfile(member), member, path, own)
        else:
            raise _bad(member.name, "is neither file, folder nor link")
    # Last: a folder that may not be written to could not have been filled.
    for path, mode in reversed(folders):
        os.chmod(path, (mode & 0o777) | 0o700)
    return entries


def safe_parts(name: str) -> "list[bytes]":
    """The components of an entry's name; none of them leads anywhere but down."""
    raw = os.fsencode(name)
    if raw.startswith(b"/") or b"\0" in raw or len(raw) > NAME_BYTES:
        raise _bad(name, "is absolute, too long or contains NUL")
    parts = [part for part in raw.split(b"/") if part not in (b"", b".")]
    if b".." in parts or len(parts) > NAME_PARTS or any(len(part) > 255 for part in parts):
        raise _bad(name, "leads out of the folder, is too deep, or has a name over 255 bytes")
    return parts


def safe_target(name: str, linkname: str, depth: int) -> bytes:
    """A link may climb first, no further than the archive's root, and then only descend.

    Climbing after descending could pass through another link and end outside, however it looks.
    """
    raw = os.fsencode(linkname)
    parts = [part for part in raw.split(b"/") if part not in (b"", b".")]
    climbs = 0
    while climbs < len(parts) and parts[climbs] == b"..":
        climbs += 1
    if not raw or raw.startswith(b"/") or b"\0" in raw or len(raw) > NAME_BYTES or climbs > depth or b".." in parts[climbs:]:
        raise _bad(name, "is a link that leads out of the folder")
    return raw


def _parent(staging: bytes, parts: "list[bytes]") -> bytes:
    """Every folder on the way is a real one: nothing is ever written through a link."""
    path = staging
    for part in parts[:-1]:
        path = os.path.join(path, part)
        _make_folder(path, os.fsdecode(part))
    return os.path.join(path, parts[-1])


def _make_folder(path: bytes, name: str) -> None:
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        if not _is_real_folder(path):
            raise _bad(name, "is a folder and something else") from None


def _hard_link(staging: bytes, member, path: bytes) -> None:
    parts = safe_parts(member.linkname)
    source = staging
    for part in parts[:-1]:
        source = os.path.join(source, part)
        if not _is_real_folder(source):
            raise _bad(member.name, "is a link to nothing in the archive")
    source = os.path.join(source, parts[-1]) if parts else staging
    if not os.path.lexists(source) or not stat.S_ISREG(os.lstat(source).st_mode):
        raise _bad(member.name, "is a link to nothing in the archive")
    os.link(source, path, follow_symlinks=False)


def _write_file(source, member, path: bytes, own: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        left = member.size
        while left > 0:
            data = source.read(min(left, COPY_BYTES))
            if not data:
                raise _bad(member.name, "is cut short")
            write_all(fd, memoryview(data))
            left -= len(data)
        os.fchmod(fd, member.mode & 0o777 if own else (member.mode & 0o755) | 0o600)
        try:
            os.utime(fd, (member.mtime, member.mtime))
        except (OSError, OverflowError, ValueError, TypeError):
            pass
    finally:
        os.close(fd)


def _merge(staging: bytes, target: bytes) -> None:
    # Looked at to the end before anything is moved: what is in the way must not leave a part of the archive behind.
    for new, old in list(_moves(staging, target)):
        os.rename(new, old)


def _moves(staging: bytes, target: bytes):
    waiting = [(staging, target)]
    while waiting:
        source, destination = waiting.pop()
        names = os.listdir(source)
        if names and not os.access(destination, os.W_OK | os.X_OK):
            raise CallError("PATH_NOT_PERMITTED", "the folder cannot be written to: %s" % _shown(os.path.basename(destination)))
        for name in names:
            new, old = os.path.join(source, name), os.path.join(destination, name)
            if not os.path.lexists(old):
                yield new, old
            elif _is_real_folder(new) != _is_real_folder(old):
                kind = "a folder" if _is_real_folder(new) else "a file"
                raise CallError("PATH_EXISTS", "where the archive has %s there is something else: %s" % (kind, _shown(name)))
            elif _is_real_folder(new):
                waiting.append((new, old))
            else:
                yield new, old


def _is_real_folder(path: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")[:200]


def _bad(name: str, reason: str) -> CallError:
    shown = name.encode("utf-8", "replace").decode("utf-8")[:200]
    return CallError("ARCHIVE_INVALID", "the entry %r %s" % (shown, reason))
