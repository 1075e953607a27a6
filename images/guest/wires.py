"""How a run request and its output pipes reach a kernel; each language gets what it can take.

Fresh pipes for each execution keep a process that an earlier one left behind from writing into a later one.
"""

import os
import re
import socket

from wire_json import dumps, encode


_SPECIAL = re.compile(rb"[^ -\[\]-~]")


class PassedPipesWire:
    """New pipes by SCM_RIGHTS, stdin as a file in memory."""

    fresh_pipes = True
    repeat_interrupt_s = 0.0

    def control(self):
        """Our end of the control channel, and the one that becomes the kernel's descriptor 3."""
        return socket.socketpair()

    def inherit(self) -> "dict[int, int]":
        """Descriptors beyond the usual ones that the kernel is born with."""
        return {}

    def ready(self, message: dict) -> None:
        """What the kernel says of itself when it can take code."""

    def interrupted(self) -> None:
        """What an interrupt needs beside the signal."""

    def close(self) -> None:
        pass

    def begin(self, kernel, execution) -> "tuple[int, int]":
        stdout, out_w = os.pipe()
        stderr, err_w = os.pipe()
        fds = [out_w, err_w]
        stdin = execution.request.get("stdin")
        if stdin is not None:
            fds.append(_memory_file(stdin))
        message = run_message(execution)
        message["fds"] = len(fds)
        kernel.send(encode(dumps(message)) + b"\n", tuple(fds))
        for fd in fds:
            os.close(fd)
        return stdout, stderr

    def ended(self) -> None:
        pass


class SharedStdinWire(PassedPipesWire):
    """For Node, which cannot be passed descriptors: it opens named pipes, and puts them in place of 1 and 2 if its image has
    what that takes. Otherwise it keeps the pipes that it was born with.

    Its descriptor 0 is a file in memory whose position guest and kernel share, so each execution finds its own stdin there.
    On 4 it reads which execution, counted from the kernel's start, is to be interrupted.
    """

    fresh_pipes = False

    def __init__(self) -> None:
        self._stdin = _memory_file("")
        self._alarm = self._alarm_r = -1
        self._runs = 0
        self._named = NamedPipes()

    def control(self):
        self.fresh_pipes = False
        self._close_alarm()
        self._alarm_r, self._alarm = os.pipe()
        os.set_blocking(self._alarm, False)
        self._runs = 0
        return socket.socketpair()

    def inherit(self) -> "dict[int, int]":
        return {0: self._stdin, 4: self._alarm_r}

    def ready(self, message: dict) -> None:
        self.fresh_pipes = message.get("fresh_pipes") is True

    def begin(self, kernel, execution) -> "tuple[int, int]":
        stdin = execution.request.get("stdin")
        os.ftruncate(self._stdin, 0)
        if stdin is not None:
            _write_all(self._stdin, encode(stdin))
        os.lseek(self._stdin, 0, os.SEEK_SET)
        message = run_message(execution)
        message["stdin_given"] = stdin is not None
        self._runs += 1
        pipes = kernel.stdout, kernel.stderr
        if self.fresh_pipes:
            message["pipes"], *pipes = self._named.make()
        kernel.send(encode(dumps(message)) + b"\n")
        return tuple(pipes)

    def ended(self) -> None:
        self._named.forget()

    def interrupted(self) -> None:
        try:
            os.write(self._alarm, b"%d\n" % self._runs)
        except OSError:
            pass

    def close(self) -> None:
        self._close_alarm()
        os.close(self._stdin)
        self._named.close()

    def _close_alarm(self) -> None:
        for fd in (self._alarm, self._alarm_r):
            if fd >= 0:
                os.close(fd)
        self._alarm = self._alarm_r = -1


class FileWire(SharedStdinWire):
    """For R, which cannot use a socket by descriptor: a request lies in a file in memory (5), a byte on a pipe (4) announces it,
    answers come on a pipe (3). One request at a time, which is how kernels are spoken to anyway.
    """

    # R's system() ignores SIGINT while its child dies of it, and would go on with the next expression.
    repeat_interrupt_s = 0.1

    def __init__(self) -> None:
        super().__init__()
        self._request = _memory_file("")
        self._poke = self._poke_r = -1

    def control(self):
        self.fresh_pipes = False
        self._close_poke()
        answers, answers_w = os.pipe()
        self._poke_r, self._poke = os.pipe()
        os.set_blocking(self._poke, False)
        return _PipeEnds(answers, self._post), _PipeEnds(answers_w, None)

    def inherit(self) -> "dict[int, int]":
        return {0: self._stdin, 4: self._poke_r, 5: self._request}

    def interrupted(self) -> None:
        pass

    def close(self) -> None:
        super().close()
        self._close_poke()
        os.close(self._request)

    def _post(self, data: bytes) -> None:
        os.ftruncate(self._request, 0)
        _write_all(self._request, data)
        os.write(self._poke, b"!")

    def _close_poke(self) -> None:
        for fd in (self._poke, self._poke_r):
            if fd >= 0:
                os.close(fd)
        self._poke = self._poke_r = -1


class _PipeEnds:
    """As much of a socket as a kernel's control channel uses."""

    def __init__(self, fd: int, post) -> None:
        self._fd = fd
        self._post = post

    def fileno(self) -> int:
        return self._fd

    def setblocking(self, flag: bool) -> None:
        os.set_blocking(self._fd, flag)

    def recv(self, size: int) -> bytes:
        return os.read(self._fd, size)

    def sendmsg(self, buffers, _ancillary) -> int:
        self._post(bytes(buffers[0]))
        return len(buffers[0])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class FifoWire(PassedPipesWire):
    """For bash: requests as length-prefixed ASCII, output through named pipes.

    Text travels as `printf %b` escapes in plain ASCII, so neither quoting nor the shell's locale can change it.
    """

    def __init__(self) -> None:
        self._named = NamedPipes()

    def begin(self, kernel, execution) -> "tuple[int, int]":
        stem, stdout, stderr = self._named.make()
        request = execution.request
        stdin = request.get("stdin")
        if stdin is not None:
            with open(stem + ".in", "wb") as file:
                file.write(encode(stdin))
        env = [name for pair in request.get("env", {}).items() for name in pair]
        fields = [execution.id, stem, stem + ".in" if stdin is not None else "/dev/null", str(len(env) // 2), *env, request["code"]]
        payload = b"".join(_escape(field) + b"\n" for field in fields)
        kernel.send(b"%010d" % len(payload) + payload)
        return stdout, stderr

    def close(self) -> None:
        self._named.close()

    def ended(self) -> None:
        self._named.forget()


class NamedPipes:
    """Pipes by name, in a folder of our own, for kernels that can only open files."""

    def __init__(self) -> None:
        self._folder = ""
        self._count = 0
        self._stems = []

    def make(self) -> "tuple[str, int, int]":
        """The stem of their names, and the ends that we read."""
        if not self._folder:
            self._folder = _private_folder()
        try:
            return self._make()
        except OSError:
            # User code has removed the folder, or taken the last inode of its file system.
            self._folder = _private_folder()
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


def run_message(execution) -> dict:
    request = execution.request
    return {
        "op": "run",
        "id": execution.id,
        "code": request["code"],
        "env": request.get("env") or {},
        "mime_value_limit": int(request.get("mime_value_limit", 1_000_000)),
        "mime_total_limit": int(request.get("mime_total_limit", 8_000_000)),
    }


def _private_folder() -> str:
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


def _memory_file(text: str) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("stdin")
    else:
        path = os.path.join(_private_folder(), "stdin")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(path)
    _write_all(fd, encode(text))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _write_all(fd: int, data: bytes) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _escape(text: str) -> bytes:
    return _SPECIAL.sub(lambda match: b"\\0%03o" % match[0][0], encode(text))
