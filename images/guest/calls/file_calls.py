"""The daemon's questions about files. Bulk bytes, quick looks and artifacts have threads apart, so none waits for the others."""

from guest.files import transfers
from guest.files.workers import Mailbox, Workers

BULK = 8
QUICK = 4
WATCHES = 8
ARTIFACTS = 4


class FileCalls:
    """Makes methods of functions that may block."""

    def __init__(self, loop, socket_path: str, token) -> None:
        mailbox = Mailbox(loop)
        self._dialer = transfers.Dialer(socket_path, token)
        self._bulk = Workers(mailbox, BULK, "transfer")
        self._quick = Workers(mailbox, QUICK, "files")
        self._watching = Workers(mailbox, WATCHES, "watch")
        self._keeping = Workers(mailbox, ARTIFACTS, "artifacts")

    def quickly(self, function):
        return lambda _guest, params, reply: self._quick.submit(lambda answer: function(params, answer), reply)

    def bulk(self, job, reply) -> None:
        """`job(dialer)`, as soon as there is a thread for it."""
        self._bulk.submit(lambda _answer: job(self._dialer), reply)

    def streaming(self, function):
        return self._dialing(function, lambda _params: self._bulk)

    def reading(self, function):
        return self._dialing(function, lambda params: self._keeping if params.get("artifact") is True else self._bulk)

    def watching(self, function):
        return self._dialing(function, lambda _params: self._watching)

    def keeping(self, function):
        return self._dialing(function, lambda _params: self._keeping)

    def _dialing(self, function, workers_for):
        def method(_guest, params, reply) -> None:
            workers_for(params).submit(lambda answer: function(self._dialer, params, answer), reply)

        return method
