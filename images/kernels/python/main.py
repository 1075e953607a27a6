"""Start of a Python kernel: fd 3 is the control socket, fds 1 and 2 are pipes that the guest reads."""

import os
import sys

sys.dont_write_bytecode, _write_bytecode = True, sys.dont_write_bytecode
sys.path[0] = os.path.dirname(os.path.abspath(__file__))

from sandbar_kernel.kernel import Kernel  # noqa: E402

# User code imports from its working directory, as in any interactive Python.
sys.path[0] = ""
sys.dont_write_bytecode = _write_bytecode
sys.argv = [""]

Kernel().serve()
