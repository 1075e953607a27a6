"""How a run request and its output pipes reach a kernel; each language gets what it can take.

Fresh pipes for each execution keep a process that an earlier one left behind from writing into a later one.
"""

import os
import re
import socket

from wire_json import dumps, encode


_SPECIAL = re.compile(rb"[^ -\[\]-~]")


class Ticket:
    """One for each execution, of our own making: what a kernel says counts only for the execution whose ticket it shows.

    Results show its name, which code may find out. The end shows its token, which lies outside of the kernel's memory until
    the code has come to its end, where the language can do that. Whoever gets hold of it all the same ends his own execution early;
    what the kernel says at the real end then shows a token that counts no more.
    """

    __slots__ = ("name", "token")

    def __init__(self) -> None:
        self.name = os.urandom(8).hex()
        # A request begins with a digit, so a kernel can tell one from the other.
        self.token = "t" + os.urandom(8).hex()[1:]

    def names(self, message: dict) -> bool:
        return message.get("id") == self.name

    def ends(self, message: dict) -> bool:
        return message.get("token") == self.token


class PassedPipesWire:
    """New pipes by SCM_RIGHTS, stdin as a file in memory. Requests have their length in front, so that a kernel reads no further:
    the token that ends the execution lies behind its request, and once more after each result that the kernel waits with.
    """

    fresh_pipes = True
    repeat_interrupt_s = 0.0
    uninterruptible_s = 0.0
    """So long after it was given code an interrupt may end the kernel itself."""

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

    def say(self, kernel, message: dict) -> None:
        kernel.send(_prefixed(encode(dumps(message))))

    def go(self, kernel, ticket: Ticket) -> None:
        """A result has been taken that the kernel waits with."""
        kernel.send(ticket.token.encode())

    def begin(self, kernel, execution, ticket: Ticket) -> "tuple[int, int]":
        stdin = execution.request.get("stdin")
        given = [] if stdin is None else [_memory_file(stdin)]
        stdout, out_w = os.pipe()
        stderr, err_w = os.pipe()
        fds = [out_w, err_w, *given]
        message = run_message(execution, ticket)
        message["fds"] = len(fds)
        kernel.send(_prefixed(encode(dumps(message))) + ticket.token.encode(), tuple(fds))
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
    # Node's `vm` leaves SIGINT to the system for a moment, before it begins to watch for it.
    uninterruptible_s = 0.03

    def __init__(self) -> None:
        self._stdin = _memory_file("")
        self._alarm = self._alarm_r = -1
        self._runs = self._interrupts = 0
        self._named = NamedPipes()

    def control(self):
        self.fresh_pipes = False
        self._close_alarm()
        self._alarm_r, self._alarm = os.pipe()
        os.set_blocking(self._alarm, False)
        self._runs = self._interrupts = 0
        return socket.socketpair()

    def inherit(self) -> "dict[int, int]":
        return {0: self._stdin, 4: self._alarm_r}

    def ready(self, message: dict) -> None:
        self.fresh_pipes = message.get("fresh_pipes") is True

    def say(self, kernel, message: dict) -> None:
        kernel.send(encode(dumps(message)) + b"\n")

    def go(self, kernel, ticket: Ticket) -> None:
        self.say(kernel, {"op": "go"})

    def begin(self, kernel, execution, ticket: Ticket) -> "tuple[int, int]":
        stdin = execution.request.get("stdin")
        os.ftruncate(self._stdin, 0)
        if stdin is not None:
            _write_all(self._stdin, encode(stdin))
        os.lseek(self._stdin, 0, os.SEEK_SET)
        message = run_message(execution, ticket)
        message["stdin_given"] = stdin is not None
        message["interrupts"] = self._interrupts
        self._runs += 1
        pipes = kernel.stdout, kernel.stderr
        if self.fresh_pipes:
            message["pipes"], *pipes = self._named.make()
        self._hand_over(kernel, message, ticket)
        return tuple(pipes)

    def _hand_over(self, kernel, message: dict, ticket: Ticket) -> None:
        # Out of reach for code, in the kernel's closures.
        self.say(kernel, {**message, "token": ticket.token})

    def ended(self) -> None:
        self._named.forget()

    def interrupted(self) -> None:
        self._interrupts += 1
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
    answers come on a pipe (3). One request at a time, which is how kernels are spoken to anyway. The file's first line has
    an execution's name and token, which the kernel reads at its end.
    """

    # R's system() ignores SIGINT while its child dies of it, and would go on with the next expression.
    repeat_interrupt_s = 0.1
    uninterruptible_s = 0.0

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

    def say(self, kernel, message: dict) -> None:
        kernel.send(b"\n" + encode(dumps(message)))

    def go(self, kernel, ticket: Ticket) -> None:
        os.write(self._poke, b"!")

    def _hand_over(self, kernel, message: dict, ticket: Ticket) -> None:
        kernel.send(("%s %s\n" % (ticket.name, ticket.token)).encode() + encode(dumps(message)))

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

    def begin(self, kernel, execution, ticket: Ticket) -> "tuple[int, int]":
        stem, stdout, stderr = self._named.make()
        request = execution.request
        stdin = request.get("stdin")
        if stdin is not None:
            try:
                with open(stem + ".in", "wb") as file:
                    file.write(encode(stdin))
            except OSError:
                os.close(stdout)
                os.close(stderr)
                raise
        env = [name for pair in request.get("env", {}).items() for name in pair]
        fields = [stem, stem + ".in" if stdin is not None else "/dev/null", str(len(env) // 2), *env, _code(request)]
        payload = b"".join(_escape(field) + b"\n" for field in fields)
        kernel.send(_prefixed(payload) + ticket.token.encode())
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


def run_message(execution, ticket: Ticket) -> dict:
    request = execution.request
    return {
        "op": "run",
        "id": ticket.name,
        "code": _code(request),
        "env": request.get("env") or {},
        "mime_value_limit": int(request.get("mime_value_limit", 1_000_000)),
        "mime_total_limit": int(request.get("mime_total_limit", 8_000_000)),
    }


def _code(request: dict) -> str:
    """Without the mark that some editors put before it, which no shell and not every language takes."""
    code = request["code"]
    return code[1:] if code[:1] == "\ufeff" else code


def _prefixed(payload: bytes) -> bytes:
    return b"%010d" % len(payload) + payload


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
