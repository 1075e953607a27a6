"""A context: one kernel after another, the executions that wait for it, and the pipes that earlier ones left open."""

import errno
import os
import signal
import time
from collections import deque

from guest import limits
from guest.artifacts.artifacts import ARTIFACTS
from guest.executions.journal import Execution
from guest.executions.output import LateText, Pipe, StreamText
from guest.executions.results import bounded_bundle, bounded_error
from guest.io.wire_json import dumps, encode
from guest.kernels import languages
from guest.kernels.kernel import Kernel
from guest.kernels.spawn import spawn
from guest.system import oom, process_tree
from guest.system.environment import environment
from guest.system.shortage import shortage
from guest.wires.ticket import Ticket

STRAGGLER_S = 0.02
STRAGGLER_LOOKS = 50
HANGUP_S = 0.2
EARLY_S = 0.5
AGAIN_S = (0.5, 1.5, 3.0)
SPAWN_AGAIN_S = 0.05
SPAWN_TRIES = 100


class Context:
    def __init__(self, guest, name: str, language: str, env: "dict[str, str]") -> None:
        self._guest = guest
        self._loop = guest.loop
        self._journal = guest.journal
        self.name = name
        self.language = language
        self._env = env
        self.tag = ""
        """In the environment of every process of the present kernel; a kernel that succeeds a dead one gets another."""
        self.sessions = set()
        self.state = "starting"
        self._wire = languages.LANGUAGES[language].wire()
        self._late = {stream: LateText(guest.link.send_late, name, stream) for stream in ("stdout", "stderr")}
        self._kernel = None
        self._queue = deque()
        self._running = None
        self._ticket = None
        self._began = (0.0, 0)
        self._handed_over = 0.0
        self._interrupted = False
        self._started_seq = 0
        self._streams = ()
        self._pipes = ()
        self._old_pipes = deque()
        self._failed_starts = 0
        self.used = False
        """Code has run in the kernel, or in one whose state it took over."""
        self.lost = None
        """How the variables went while no code ran, until an execution has been told."""
        self._start_timer = None
        self._replacing = False
        self._asking = None
        self._patient = deque()
        self.closed = False
        self.start()

    @property
    def forks(self) -> bool:
        """Its kernel can leave work to a copy of itself."""
        return languages.LANGUAGES[self.language].forks

    # Executions

    def submit(self, execution: Execution) -> None:
        self._queue.append(execution)
        if self._asking is not None and self._asking["yields"]:
            self._cut_question()
        if self.state == "dead":
            self._failed_starts = limits.FAILED_STARTS - 1
            self.start()
        self._pump()

    def full(self) -> bool:
        return len(self._queue) >= limits.QUEUED_PER_CONTEXT

    def idle(self) -> bool:
        return self.state == "ready" and self._running is None and self._asking is None and not self._queue

    def busy(self) -> bool:
        """Code runs, or waits to."""
        return self._running is not None or len(self._queue) > 0

    def interrupt(self, execution: Execution, first: bool = True) -> None:
        early = self._handed_over + self._wire.uninterruptible_s - time.monotonic()
        if execution is self._running and early > 0:
            self._loop.after(early, lambda: self.interrupt(execution, first))
        elif execution is self._running:
            self._interrupted = True
            process_tree.signal_group(self._kernel.pid, signal.SIGINT)
            self._wire.interrupted()
            if process_tree.crowded():
                # Whoever multiplies would leave the kernel neither a processor nor a process to end its code with.
                self._kill_leftovers()
            if self._wire.repeat_interrupt_s:
                self._loop.after(self._wire.repeat_interrupt_s, lambda: self.interrupt(execution))
            elif first and time.monotonic() - self._handed_over < EARLY_S:
                # A kernel that has not taken the code yet takes the signal for nobody's, and one that is starved of CPU takes its time.
                for delay in AGAIN_S:
                    self._loop.after(delay, lambda: self._interrupt_silent(execution))
        elif execution in self._queue:
            self._queue.remove(execution)
            self._end_unstarted(execution, "interrupted", None)

    def _interrupt_silent(self, execution: Execution) -> None:
        """Code that has said something had begun: it heard the first one, and may be cleaning up."""
        if execution.seq == self._started_seq:
            self.interrupt(execution, first=False)

    def kill(self, execution: Execution) -> None:
        if execution is self._running:
            self._kill_kernel()
        elif execution in self._queue:
            self._queue.remove(execution)
            self._end_unstarted(execution, "died", None)

    def restart(self) -> None:
        self._failed_starts = 0
        self.used = False
        self.lost = None
        if self._kernel is not None and self._kernel.alive:
            self._kill_kernel()
        else:
            self.start()

    def set_env(self, env: "dict[str, str]") -> None:
        """The environment of a session that was not known when the kernel started; given once, as at any other start."""
        if self._env or not env:
            return
        self._env = env
        if languages.LANGUAGES[self.language].takes_env and self._kernel is not None and self._kernel.alive:
            self._wire.say(self._kernel, {"op": "env", "env": env})
        else:
            self.restart()

    def enter(self, folder: str, timeout_s: float, on_answer) -> None:
        """Another folder is now where the kernel was started."""
        if languages.LANGUAGES[self.language].answers and self.idle():
            self.ask({"op": "enter", "folder": folder}, timeout_s, on_answer)
        else:
            self.restart()
            on_answer({})

    def close(self) -> None:
        self.closed = True
        for execution in self._queue:
            self._end_unstarted(execution, "died", None)
        self._queue.clear()
        if self._kernel is not None and self._kernel.alive:
            self._kill_kernel()
        else:
            self._let_go()

    def hold(self) -> None:
        for pipe in (*self._pipes, *self._old_pipes):
            pipe.hold()
        if self._kernel is not None:
            self._kernel.hold()

    def release(self) -> None:
        for pipe in (*self._pipes, *self._old_pipes):
            pipe.release()
        if self._kernel is not None:
            self._kernel.release()

    # Questions to an idle kernel

    def ask(self, message: dict, timeout_s: float, on_answer, yields: bool = False) -> None:
        """One at a time, between executions; those that come meanwhile wait, except for a question that `yields`: its child
        is killed for them. It costs the kernel no signal either, which might come as late as in the next execution.
        """
        self._asking = {"on_answer": on_answer, "child": None, "yields": yields, "cut": False, "number": message.get("ask")}
        self._asking["timer"] = self._loop.after(timeout_s, self._question_overdue)
        self._wire.say(self._kernel, message)

    def when_quiet(self, action) -> None:
        """Called once, when the kernel is idle, before the executions that wait; or when there will be none."""
        self._patient.append(action)
        self._pump()

    def no_longer(self, action) -> None:
        if action in self._patient:
            self._patient.remove(action)

    def _question_overdue(self) -> None:
        """A kernel that forked for the answer loses the child; another one is interrupted. It then answers with what it has."""
        child = self._asking["child"]
        if self._asking["yields"]:
            self._cut_question()
        elif child is not None:
            process_tree.signal_process(child, signal.SIGKILL)
        else:
            process_tree.signal_group(self._kernel.pid, signal.SIGINT)
        self._asking["timer"] = self._loop.after(1.0, lambda: self._answered({"error": "the kernel did not answer"}))

    def _cut_question(self) -> None:
        self._asking["cut"] = True
        if self._asking["child"] is not None:
            process_tree.signal_process(self._asking["child"], signal.SIGKILL)

    def _answered(self, message: dict) -> None:
        asking, self._asking = self._asking, None
        if asking is not None:
            asking["timer"].cancel()
            asking["on_answer"](message)
            self._pump()

    # The kernel's life

    def start(self, tries: int = SPAWN_TRIES) -> None:
        if self._start_timer is not None:
            self._start_timer.cancel()
        if not self._replacing:
            self.tag = os.urandom(8).hex()
            self.sessions = set()
        self._oom_kills = 0
        self._late["stderr"].recent.clear()
        try:
            self._kernel = kernel = Kernel(
                self._loop, self._guest.reaper, self._launch, self._wire.control(), self._wire.inherit(),
                self._on_message, self._on_exit, self._on_hangup,
            )
        except OSError as error:
            if error.errno == errno.EAGAIN and tries > 1:
                # Processes that were just killed count until they are reaped.
                self.state = "starting"
                self._start_timer = self._loop.after(SPAWN_AGAIN_S, lambda: self.start(tries - 1))
                return
            self._fail_start("the kernel could not be started: %s" % error, None, error)
            return
        # Fed to `late` until an execution owns them; a fresh-pipes kernel never writes here again after its first one.
        self._pipes = (self._pipe(kernel.stdout, self._late["stdout"]), self._pipe(kernel.stderr, self._late["stderr"]))
        self._streams = ()
        self.sessions.add(kernel.pid)
        self._guest.rank_victim(kernel.pid)
        self._start_timer = self._loop.after(limits.KERNEL_START_S, self._kill_kernel)
        if not self._replacing:
            self._announce("starting")

    def _launch(self, fds: "dict[int, int]") -> int:
        language = languages.LANGUAGES[self.language]
        env = environment(self._env, self.tag)
        pid = self._guest.fork_parent.fork(env, fds) if language.forks else None
        return pid or spawn(language.argv(), env, fds)

    def _kill_kernel(self) -> None:
        kernel = self._kernel
        if kernel is None or not kernel.alive:
            return
        kernel.killed = True
        # What comes before the exit is noticed belongs to the next kernel.
        self.state = "starting"
        process_tree.signal_group(kernel.pid, signal.SIGKILL)
        process_tree.signal_process(kernel.pid, signal.SIGKILL)
        self._kill_members()

    def _kill_members(self) -> None:
        self._kill_generation(self.tag, set(self.sessions), STRAGGLER_LOOKS)

    def _kill_leftovers(self) -> None:
        foreign = self._guest.owned()
        foreign.pop(self.tag, None)
        killed = process_tree.kill_leftovers(self.tag, self.sessions, foreign, self._kernel.pid, self._began)
        self._guest.reaper.settle(killed)

    def _kill_generation(self, tag: str, sessions: "set[int]", looks: int) -> None:
        foreign = self._guest.owned()
        foreign.pop(tag, None)
        if process_tree.kill_members(tag, sessions, foreign) and looks > 0:
            self._loop.after(STRAGGLER_S, lambda: self._kill_generation(tag, sessions, looks - 1))

    def _on_hangup(self) -> None:
        """The control socket closed: usually the process is ending; if it is not, it can no longer be spoken to."""
        kernel = self._kernel

        def end() -> None:
            if kernel is self._kernel and kernel.alive:
                self._kill_kernel()
                kernel.killed = False

        self._loop.after(HANGUP_S, end)

    def _on_exit(self, status: int) -> None:
        kernel = self._kernel
        if self._start_timer is not None:
            self._start_timer.cancel()
            self._start_timer = None
        kernel.drain()
        kernel.close()
        planned = self._replacing
        signaled = os.WIFSIGNALED(status)
        exit = {
            "exit_code": None if signaled else os.WEXITSTATUS(status),
            "signal": os.WTERMSIG(status) if signaled else None,
            "oom": signaled and not kernel.killed and self._out_of_memory(os.WTERMSIG(status)),
        }
        if not planned:
            self._kill_members()
        running, self._running = self._running, None
        self._answered({"error": "the kernel ended"})
        if running is not None:
            missing = None if kernel.killed or exit["oom"] else shortage()
            # A runtime may well end for want of a thread; the other things it tells the code.
            said = {"shortage": missing} if missing and missing["code"] == "PROCESS_LIMIT" else {}
            self._finish(running, "died", None, exit, **said)
        for pipe in self._pipes:
            pipe.drain()
        self._retire_pipes()
        if self.closed:
            self._let_go()
            return
        if planned and kernel.ready:
            self.start()
            return
        self._replacing = False
        if self.used and running is None:
            self.lost = {"at": int(time.time() * 1000), "exit": exit}
        self.used = False
        if kernel.ready:
            self._failed_starts = 0
        else:
            self._failed_starts += 1
            if self._failed_starts >= limits.FAILED_STARTS:
                self._fail_start("the kernel ended before it was ready", exit)
                return
        self.start()

    def _out_of_memory(self, number: int) -> bool:
        """Killed for it by the system, or ended by a runtime that says so."""
        if number == signal.SIGKILL:
            strikes = self._guest.oom_strikes
            recent = strikes.recent()
            return recent if self._running is None else strikes.count > self._oom_kills
        for pipe in (*self._pipes, *self._old_pipes):
            pipe.drain()
        return any(oom.told("".join(stream.recent)) for stream in (*self._streams[1:], self._late["stderr"]))

    def _let_go(self) -> None:
        if self._start_timer is not None:
            self._start_timer.cancel()
        for pipe in (*self._pipes, *self._old_pipes):
            pipe.close()
        self._pipes = ()
        self._old_pipes.clear()
        self._wire.close()
        self._announce("dead", "closed")
        self._guest.context_gone(self)

    def _fail_start(self, detail: str, exit, error: "OSError | None" = None) -> None:
        missing = shortage(error)
        self._announce("dead", "%s; %s" % (detail, missing["detail"]) if missing else detail)
        said = {"shortage": missing} if missing else {}
        while self._queue:
            self._end_unstarted(self._queue.popleft(), "died", exit, **self._loss(), **said)

    # What the kernel says

    def _on_message(self, message: dict) -> None:
        op = message.get("op")
        running = self._running
        if op == "done":
            if running is not None and self._ticket.ends(message):
                self._running = None
                if self._interrupted:
                    self._kill_leftovers()
                    if languages.LANGUAGES[self.language].keeps_dead_children and process_tree.crowded():
                        # They count as processes, and the code that would ask for them has been interrupted.
                        self._wire.say(self._kernel, {"op": "reap"})
                self._replacing = message.get("again") is True
                code = message.get("exit_code")
                status = message.get("status")
                self._finish(
                    running,
                    status if status in ("ok", "error", "interrupted") else "error",
                    code if isinstance(code, int) and not isinstance(code, bool) else None,
                    None,
                )
                if self._wire.fresh_pipes:
                    self._retire_pipes()
                if self._replacing:
                    self._kernel.ready = True
                    self.state = "starting"
                self._pump()
                if languages.LANGUAGES[self.language].forks:
                    self._guest.fork_parent.execution_ended(message.get("imported"), self._env)
        elif op == "result" and running is not None and self._ticket.names(message):
            self._drain()
            data = bounded_bundle(running, message)
            wait = message.get("wait") is True
            if data:
                # Nothing but the end follows one that the kernel does not wait with.
                self._journal.event(running, "result", soon=not wait, data=data)
            if wait:
                self._wire.go(self._kernel, self._ticket)
        elif op == "error" and running is not None and self._ticket.ends(message):
            self._drain()
            self._journal.event(running, "error", **bounded_error(running, message))
        elif op == "late" and message.get("stream") in self._late:
            self._late[message["stream"]].text(str(message.get("text", "")))
        elif op == "answer":
            # One that comes too late is not the next question's.
            if self._asking is not None and self._asking["number"] == message.get("ask"):
                self._answered(message)
        elif op == "child" and self._asking is not None and self._asking["number"] == message.get("ask"):
            pid = message.get("pid")
            # Others are groups, or the guest itself.
            self._asking["child"] = pid if isinstance(pid, int) and pid > 1 else None
            if self._asking["cut"]:
                self._cut_question()
        elif op == "ready" and not self._kernel.ready and not self._kernel.killed:
            self._kernel.ready = True
            self._wire.ready(message)
            self._failed_starts = 0
            if self._start_timer is not None:
                self._start_timer.cancel()
                self._start_timer = None
            self.state = "ready"
            if self._replacing and not message.get("whole"):
                missing = shortage()
                why = ": %s" % missing["detail"] if missing else ""
                self.lost = {"at": int(time.time() * 1000), "exit": None, "detail": "the shell ended and its state could not be kept" + why}
            if not self._replacing or self.lost:
                self._announce("ready")
            self._replacing = False
            self._pump()
        if self._journal.full:
            self._guest.hold_all()

    # One execution

    def _pump(self) -> None:
        if self.state == "ready" and self._running is None and self._asking is None:
            if self._patient:
                self._patient.popleft()()
                self._pump()
            elif self._queue:
                self._begin(self._queue.popleft())

    def _begin(self, execution: Execution) -> None:
        kernel = self._kernel
        self._running = execution
        self._handed_over = time.monotonic()
        self._ticket = ticket = Ticket()
        self._began = process_tree.now()
        self._interrupted = False
        self.used = True
        execution.loss = self._loss()
        self._guest.oom_strikes.look()
        self._oom_kills = self._guest.oom_strikes.count
        self._guest.fork_parent.execution_began()
        sinks = tuple(StreamText(self._journal, execution, stream) for stream in ("stdout", "stderr"))
        fresh_pipes = self._wire.fresh_pipes
        if fresh_pipes:
            self._retire_pipes()
        else:
            for pipe in self._pipes:
                pipe.drain()
        try:
            fds = self._wire.begin(kernel, execution, ticket)
        except OSError as error:
            self._refuse(execution, error)
            return
        if fresh_pipes:
            self._pipes = tuple(self._pipe(fd, sink) for fd, sink in zip(fds, sinks))
        else:
            for pipe, sink in zip(self._pipes, sinks):
                pipe.sink = sink
        self._streams = sinks
        self._journal.event(execution, "started", soon=True)
        self._started_seq = execution.seq

    def _refuse(self, execution: Execution, error: OSError) -> None:
        """The kernel has not heard of it, and is ready for another one."""
        self._running = None
        missing = shortage(error) or {"code": "CONTEXT_UNAVAILABLE", "detail": "try again, or restart the context"}
        value = "the code could not be given to the kernel: %s; %s" % (error.strerror, missing["detail"])
        self._journal.event(execution, "error", name=missing["code"], value=value, traceback="")
        self._end_unstarted(execution, "error", None, **execution.loss)
        self._wire.ended()
        self._loop.after(0, self._pump)

    def _drain(self) -> None:
        for pipe in self._pipes:
            if pipe.fd >= 0:
                pipe.drain()
        for stream in self._streams:
            stream.flush()

    def _finish(self, execution: Execution, status: str, exit_code, exit, **more) -> None:
        for pipe in self._pipes:
            if pipe.fd >= 0:
                pipe.drain()
        for stream in self._streams:
            stream.finish()
        out, err = (stream.total for stream in self._streams)
        self._streams = ()
        for pipe, stream in zip(self._pipes, ("stdout", "stderr")):
            pipe.sink = self._late[stream]
        totals = {"stdout": out, "stderr": err, "results_dropped": execution.dropped}
        if execution.left_out:
            totals["left_out"] = execution.left_out
        if execution.result_length:
            totals["result"] = execution.result_length
        totals.update(execution.error_lengths)
        found = ARTIFACTS.found()
        self._journal.end(execution, status=status, exit_code=exit_code, exit=exit, totals=totals, **found, **execution.loss, **more)
        self._wire.ended()
        self._guest.oom_strikes.look()

    def _end_unstarted(self, execution: Execution, status: str, exit, **more) -> None:
        totals = {"stdout": 0, "stderr": 0, "results_dropped": 0}
        self._journal.end(execution, status=status, exit_code=None, exit=exit, totals=totals, **more)

    def _loss(self) -> dict:
        """What an execution says of it, once: its `done` is kept until acknowledged."""
        lost, self.lost = self.lost, None
        return {"lost": lost} if lost else {}

    def _pipe(self, fd: int, sink) -> Pipe:
        pipe = Pipe(self._loop, self._journal, fd, sink, self._guest.hold_all)
        if self._journal.full:
            pipe.hold()
        return pipe

    def _retire_pipes(self) -> None:
        """A process that outlives its execution may hold the other end for ever; only so many are listened to."""
        self._old_pipes.extend(pipe for pipe in self._pipes if pipe.fd >= 0)
        self._pipes = ()
        if len(self._old_pipes) > limits.OLD_PIPES_PER_CONTEXT:
            self._old_pipes = deque(pipe for pipe in self._old_pipes if pipe.fd >= 0)
            while len(self._old_pipes) > limits.OLD_PIPES_PER_CONTEXT:
                self._old_pipes.popleft().close()

    def _announce(self, state: str, detail: str = "") -> None:
        self.state = state
        message = {"type": "context", "context": self.name, "state": state, "detail": detail[:8000], "lost": self.lost}
        self._guest.link.send(encode(dumps(message)) + b"\n")
        while state == "dead" and self._patient:
            self._patient.popleft()()
