"""The processes of the API in this session: each started once, found by its id, as many as there may be."""

from guest.io.call_error import CallError
from guest.processes.process import Process

PROCESSES = 64
REMEMBERED = 256
FORGOTTEN = 10_000
"""Ids of processes that are gone, which are not started again."""


class Processes:
    def __init__(self, guest) -> None:
        self._guest = guest
        self._processes = {}
        self._done = {}
        """Calls that must not be done twice, when the daemon's question came twice."""
        self._gone = {}

    def start(self, params: dict) -> Process:
        found = self._processes.get(str(params["process"]))
        if found is not None:
            if found.digest != params.get("digest"):
                raise CallError("IDEMPOTENCY_CONFLICT", "the process was started with another request")
            return found
        if str(params["process"]) in self._gone:
            raise CallError("PROCESS_GONE", "the process that this key has started was deleted, or made room for others")
        while len(self._processes) >= PROCESSES:
            ended = next((process for process in self._processes.values() if process.exit is not None), None)
            if ended is None:
                raise CallError("PROCESS_LIMIT", "%d processes run in this session" % PROCESSES)
            self.remove(ended.id)
        process = Process(self._guest, params)
        self._processes[process.id] = process
        self._share()
        return process

    def get(self, ident) -> Process:
        process = self._processes.get(ident)
        if process is None:
            raise CallError("NOT_FOUND", "no such process")
        return process

    def all(self) -> "list[Process]":
        return list(self._processes.values())

    def remove(self, ident: str) -> None:
        process = self._processes.pop(ident, None)
        if process is None:
            return
        self._gone[ident] = None
        if len(self._gone) > FORGOTTEN:
            del self._gone[next(iter(self._gone))]
        self._share()
        process.killed = True
        process.kill()
        if process.exit is not None:
            process.close()
        else:
            process.watchers.add(lambda: process.exit is not None and process.close())

    def _share(self) -> None:
        for process in self._processes.values():
            process.ring.share(len(self._processes))

    def once(self, params: dict) -> bool:
        """True for the first time that a call of this id is seen."""
        ident = params.get("once")
        if ident is None:
            return True
        if ident in self._done:
            return False
        self._done[ident] = True
        if len(self._done) > REMEMBERED:
            del self._done[next(iter(self._done))]
        return True

    def owned(self) -> "dict[str, set[int]]":
        """Tags and sessions, so that the end of a context does not take them for its own."""
        return {process.tag: {process.pid} for process in self._processes.values()}
