"""Start of the process that forks Python kernels: fd 3 is its control socket, its arguments are the modules that it imports first."""

import os
import sys

sys.dont_write_bytecode, _write_bytecode = True, sys.dont_write_bytecode
sys.path[0] = os.path.dirname(os.path.abspath(__file__))

from sandbar_kernel.forks import ForkParent  # noqa: E402

ForkParent(sys.argv[1:], _write_bytecode).serve()
