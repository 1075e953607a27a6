"""The guest: what the daemon says, and who does it."""

import os
import signal

from guest import limits
from guest.calls.calls import Calls
from guest.calls.file_calls import FileCalls
from guest.calls.methods import methods
from guest.executions.journal import Journal
from guest.io.link import Link
from guest.io.loop import Loop
from guest.io.wire_json import dumps, encode
from guest.kernels import languages
from guest.kernels.context import Context
from guest.kernels.fork_parent import ForkParent
from guest.processes.processes import Processes
from guest.system import oom, pid_one, process_tree
from guest.system.reaper import Reaper
from guest.tunnels.proxy import Proxy

PROTOCOL_VERSION = 1
SIGNALS = [signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]


class Guest:
    def __init__(self, socket_path: str) -> None:
        self.loop = Loop()
        self.socket_path = socket_path
        self.reaper = Reaper()
        self.oom_strikes = oom.Strikes()
        self.link = Link(self.loop, socket_path, self._hello, self._on_welcome, self._on_message)
        self.journal = Journal(self.link.send, self.link.send_soon, self._release_all)
        self.contexts = {}
        self.processes = Processes(self)
        self.fork_parent = ForkParent(self.loop, self.reaper, self._idle, self._rank_victims)
        self._token = None
        self._calls = Calls(self, methods(FileCalls(self.loop, socket_path, lambda: self._token)))
        self._languages = languages.available()
        self._signals = pid_one.signal_descriptor(SIGNALS)
        self._handlers = {
            "run": self._run,
            "ack": self._ack,
            "replay": self._replay,
            "interrupt": self._interrupt,
            "kill": self._kill,
            "call": self._calls.handle,
            "context.open": self.open_context,
            "context.env": self._set_env,
            "context.restart": self._restart,
            "context.close": self._close,
            "shutdown": lambda _message: self._shutdown(),
        }

    @property
    def token(self) -> "str | None":
        return self._token

    def run(self) -> None:
        self.loop.watch(self._signals, self._on_signal)
        self.loop.before_wait = self.link.flush
        Proxy(self).listen()
        self.link.dial()
        self.loop.run()

    def hold_all(self) -> None:
        for context in self.contexts.values():
            context.hold()

    def owned(self) -> "dict[str, set[int]]":
        """Tags, and sessions of processes, of everything that runs: whoever ends one must not take another's for its own."""
        owned = {context.tag: context.sessions for context in self.contexts.values()}
        owned.update(self.processes.owned())
        owned.update(self.fork_parent.owned())
        return owned

    def rank_victim(self, pid: int, looks: int = 100) -> None:
        """Whom the OOM killer takes first; never us."""
        score = oom.FIRST if self.fork_parent.is_it(pid) else oom.kernel_score(self.fork_parent.alive)
        if not oom.set_score(pid, score) and looks > 0:
            self.loop.after(0.02, lambda: self.rank_victim(pid, looks - 1))

    def context_gone(self, context: Context) -> None:
        if self.contexts.get(context.name) is context:
            del self.contexts[context.name]

    def _idle(self) -> bool:
        return all(context.idle() or context.state == "dead" for context in self.contexts.values())

    def _rank_victims(self) -> None:
        for pid in set().union(*self.owned().values()):
            self.rank_victim(pid)

    def _release_all(self) -> None:
        for context in list(self.contexts.values()):
            context.release()

    # The connection

    def _hello(self) -> dict:
        self.journal.hold_all()
        hello = {
            "type": "hello",
            "v": PROTOCOL_VERSION,
            "languages": self._languages,
            "contexts": [
                {"context": c.name, "language": c.language, "state": c.state, "lost": c.lost} for c in self.contexts.values()
            ],
            "executions": self.journal.inventory(),
        }
        if self._token is not None:
            hello["token"] = self._token
        return hello

    def _on_welcome(self, message: dict) -> None:
        token = message.get("token")
        if isinstance(token, str):
            self._token = token

    def _on_message(self, kind: str, message: dict) -> None:
        handler = self._handlers.get(kind)
        if handler is not None:
            # One bad message must not take the others of its batch with it.
            self.loop.attempt(handler, message)

    # Executions

    def _run(self, message: dict) -> None:
        name = message["context"]
        context = self.contexts.get(name)
        execution = self.journal.admit(context, message)
        if execution is None:
            return
        if context is None or context.closed:
            context = self.open_context({"context": name, "language": message["language"], "env": {}})
        if context is None or context.full():
            totals = {"stdout": 0, "stderr": 0, "results_dropped": 0}
            reason = "this image cannot run %s, or too many contexts or executions wait" % message.get("language")
            self.journal.event(execution, "error", name="CONTEXT_UNAVAILABLE", value=reason, traceback="")
            self.journal.end(execution, status="error", exit_code=None, exit=None, totals=totals)
            return
        execution.context = context
        context.submit(execution)

    def _ack(self, message: dict) -> None:
        self.journal.ack(message["execution"], int(message["seq"]), message.get("final") is True)

    def _replay(self, message: dict) -> None:
        self.journal.replay(message["execution"], int(message["seq"]))

    def _interrupt(self, message: dict) -> None:
        execution = self.journal.find(message["execution"])
        if execution is not None and execution.context is not None:
            execution.context.interrupt(execution)

    def _kill(self, message: dict) -> None:
        execution = self.journal.find(message["execution"])
        if execution is not None and execution.context is not None:
            execution.context.kill(execution)

    # Contexts

    def open_context(self, message: dict) -> "Context | None":
        name, language = message["context"], message["language"]
        context = self.contexts.get(name)
        if context is not None and not context.closed:
            return context
        if language not in self._languages or len(self.contexts) >= limits.CONTEXTS:
            detail = "no kernel for %s in this image" % language if language not in self._languages else "too many contexts"
            refusal = {"type": "context", "context": name, "state": "dead", "detail": detail[:8000]}
            self.link.send(encode(dumps(refusal)) + b"\n")
            return None
        context = Context(self, name, language, message.get("env") or {})
        self.contexts[name] = context
        return context

    def _set_env(self, message: dict) -> None:
        context = self.contexts.get(message["context"])
        if context is not None:
            context.set_env(message["env"])

    def _restart(self, message: dict) -> None:
        context = self.contexts.get(message["context"])
        if context is not None:
            context.restart()

    def _close(self, message: dict) -> None:
        context = self.contexts.get(message["context"])
        if context is not None:
            context.close()

    # Signals

    def _on_signal(self, _events: int) -> None:
        for number, sender in pid_one.read_signals(self._signals):
            if number == signal.SIGCHLD:
                self.reaper.reap()
            # Code in the sandbox may signal PID 1 too; only the outside world, which has no pid here, may end it.
            elif number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT) and (os.getpid() != 1 or sender == 0):
                self._shutdown()

    def _shutdown(self) -> None:
        process_tree.kill_everything(set().union(*self.owned().values()))
        self.loop.stop()
