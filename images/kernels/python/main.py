"""Start of a Python kernel: fd 3 is the control socket, fds 1 and 2 are pipes that the guest reads."""

import os
import sys

sys.dont_write_bytecode, _write_bytecode = True, sys.dont_write_bytecode
sys.path[0] = os.path.dirname(os.path.abspath(__file__))

from sandbar_kernel.start import start  # noqa: E402

start(_write_bytecode)
