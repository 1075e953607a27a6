"""Pipes by name, for kernels that can only open files."""

import os


class NamedPipes:
    """In a folder of our own."""

    def __init__(self) -> None:
        self._folder = ""
        self._count = 0
        self._stems = []

    def make(self) -> "tuple[str, int, int]":
        """The stem of their names, and the ends that we read."""
        if not self._folder:
            self._folder = private_folder()
        try:
            return self._make()
        except OSError:
            # User code has removed the folder, or taken the last inode of its file system.
            self._folder = private_folder()
            return self._make()

    def _make(self) -> "tuple[str, int, int]":
        self._count += 1
        stem = "%s/%d" % (self._folder, self._count)
        self._stems.append(stem)
        readers = []
        for stream in ("out", "err"):
            os.mkfifo("%s.%s" % (stem, stream), 0o600)
            readers.append(os.open("%s.%s" % (stem, stream), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        return stem, readers[0], readers[1]

    def forget(self) -> None:
        """The kernel opened its ends long ago: the names are of no more use."""
        while self._stems:
            stem = self._stems.pop()
            for stream in ("out", "err", "in"):
                try:
                    os.unlink("%s.%s" % (stem, stream))
                except OSError:
                    pass

    def close(self) -> None:
        self.forget()
        try:
            if self._folder:
                os.rmdir(self._folder)
        except OSError:
            pass


def private_folder() -> str:
    last = None
    for parent in (os.environ.get("TMPDIR"), "/tmp", "/dev/shm", "/session"):
        if parent:
            folder = os.path.join(parent, ".sandbar-" + os.urandom(6).hex())
            try:
                os.mkdir(folder, 0o700)
                return folder
            except OSError as error:
                last = error
    raise last
