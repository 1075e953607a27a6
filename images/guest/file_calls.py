"""The daemon's questions about files. Bulk bytes and quick looks have threads apart, so neither waits for the other."""

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


def register(loop, socket_path: str, token) -> None:
    mailbox = Mailbox(loop)
    dialer = transfers.Dialer(socket_path, token)
    bulk = Workers(mailbox, BULK, "transfer")
    quick = Workers(mailbox, QUICK, "files")
    watching = Workers(mailbox, WATCHES, "watch")

    def quickly(function):
        return lambda _guest, params, reply: quick.submit(lambda answer: function(params, answer), reply)

    def streaming(function, workers=bulk):
        return lambda _guest, params, reply: workers.submit(lambda answer: function(dialer, params, answer), reply)

    METHODS.update(
        {
            "fs.stat": quickly(files.status),
            "fs.list": quickly(files.listing),
            "fs.mkdir": quickly(files.mkdir),
            "fs.move": quickly(files.move),
            "fs.remove": quickly(files.remove),
            "fs.read": streaming(transfers.read),
            "fs.write": streaming(transfers.write),
            "fs.tar": streaming(archives.tar),
            "fs.untar": streaming(archives.untar),
            "fs.watch": streaming(watches.watch, watching),
            "artifacts.scan": quickly(artifacts.ARTIFACTS.scan_call),
            "artifacts.read": streaming(artifacts.read),
            # On the loop itself, so that whatever the daemon sends next finds the files gone.
            "artifacts.settle": lambda _guest, params, reply: reply(artifacts.ARTIFACTS.settle(params)),
        }
    )
