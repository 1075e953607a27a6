"""What could stand at the cursor, found in a forked child."""

import os

from . import forked
from .matches import matches
from .wire_json import dumps


def answer(shell, request: dict, channel) -> None:
    ask = request["ask"]

    def work(fd: int) -> None:
        os.write(fd, dumps(matches(shell, request)))

    try:
        data, _ = forked.ask(work, channel, ask=ask)
    except OSError as error:
        channel.send({"op": "answer", "ask": ask, "error": "no process could be started: %s" % error.strerror})
        return
    if data:
        channel.send_line(b'{"op":"answer","ask":%d,"result":%s}' % (ask, data))
    else:
        channel.send({"op": "answer", "ask": ask, "error": "it could not be found in time"})
