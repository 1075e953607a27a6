"""PID 1 of a sandbox: dials the daemon, supervises kernels, keeps their output until it is acknowledged."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

from guest.system import pid_one  # noqa: E402

# Before anything else: from here on no process of the same user can read this one's memory, so the token stays ours.
pid_one.hide_from_same_user()

from guest.guest import Guest  # noqa: E402


def main() -> int:
    pid_one.prepare()
    guest = Guest(os.environ.get("SANDBAR_SOCKET", "/run/sandbar/daemon.sock"))
    guest.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
