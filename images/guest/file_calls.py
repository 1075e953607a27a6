"""The daemon's questions about files. Bulk bytes, quick looks and artifacts have threads apart, so none waits for the others."""

import archives
import artifacts
import files
import transfers
import watches
from calls import METHODS
from workers import Mailbox, Workers

BULK = 8
QUICK = 4
WATCHES = 8
ARTIFACTS = 4


def register(loop, socket_path: str, token) -> None:
    mailbox = Mailbox(loop)
    dialer = transfers.Dialer(socket_path, token)
    bulk = Workers(mailbox, BULK, "transfer")
    quick = Workers(mailbox, QUICK, "files")
    watching = Workers(mailbox, WATCHES, "watch")
    keeping = Workers(mailbox, ARTIFACTS, "artifacts")

    def quickly(function):
        return lambda _guest, params, reply: quick.submit(lambda answer: function(params, answer), reply)

    def streaming(function, workers=bulk):
        return lambda _guest, params, reply: workers.submit(lambda answer: function(dialer, params, answer), reply)

    def reading(_guest, params, reply):
        workers = keeping if params.get("artifact") is True else bulk
        workers.submit(lambda answer: transfers.read(dialer, params, answer), reply)

    METHODS.update(
        {
            "fs.stat": quickly(files.status),
            "fs.list": quickly(files.listing),
            "fs.mkdir": quickly(files.mkdir),
            "fs.move": quickly(files.move),
            "fs.remove": quickly(files.remove),
            "fs.read": reading,
            "fs.write": streaming(transfers.write),
            "fs.tar": streaming(archives.tar),
            "fs.untar": streaming(archives.untar),
            "fs.watch": streaming(watches.watch, watching),
            "artifacts.scan": quickly(artifacts.ARTIFACTS.scan_call),
            "artifacts.read": streaming(artifacts.read, keeping),
            # On the loop itself, so that whatever the daemon sends next finds the files gone.
            "artifacts.settle": lambda _guest, params, reply: reply(artifacts.ARTIFACTS.settle(params)),
        }
    )
