"""Starts a kernel as the leader of a session of its own, with the descriptors that it is given, by number."""

import os
import signal

DUP2 = os.POSIX_SPAWN_DUP2


def spawn(argv: "list[str]", env: "dict[str, str]", fds: "dict[int, int]") -> int:
    actions = [(DUP2, source, target) for target, source in fds.items()]
    return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsid=True, setsigmask=[],
                          setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
